package rows

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// checkChunk walks over the pages of a column and reports what would need too much memory. The headers are read, the pages
// are not.
func checkChunk(r io.ReaderAt, size int64, m *format.ColumnMetaData) error {
	start := m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < start {
		start = d
	}
	if start < 4 || m.TotalCompressedSize < 0 || start > size-m.TotalCompressedSize {
		return fmt.Errorf("bytes are %d and the %d after it, want them within the file's %d", start, m.TotalCompressedSize, size)
	}
	if m.NumValues < 0 || m.NumValues > mostInChunk {
		return fmt.Errorf("values are %d, want at most %d in a row group", m.NumValues, mostInChunk)
	}
	for _, e := range m.Encoding {
		if e == format.DeltaByteArray {
			return fmt.Errorf("encoding is %v, which a few bytes can blow up: want plain, dictionary or delta length", e)
		}
	}
	return checkPages(bufio.NewReaderSize(io.NewSectionReader(r, start, m.TotalCompressedSize), 4<<10), m)
}

func checkPages(in *bufio.Reader, m *format.ColumnMetaData) error {
	var protocol thrift.CompactProtocol
	for values := int64(0); values < m.NumValues; {
		var h format.PageHeader
		if err := thrift.NewDecoder(protocol.NewReader(in)).Decode(&h); err != nil {
			return fmt.Errorf("page header after %d values: %w", values, err)
		}
		if h.CompressedPageSize < 0 || h.CompressedPageSize > mostPage || h.UncompressedPageSize < 0 || h.UncompressedPageSize > mostPage {
			return fmt.Errorf("page has %d bytes, %d unpacked, want 0 to %d", h.CompressedPageSize, h.UncompressedPageSize, mostPage)
		}
		n, encoding := countOf(&h)
		if n < 0 || n > mostValues {
			return fmt.Errorf("page has %d values, want 0 to %d", n, mostValues)
		}
		if encoding == format.DeltaByteArray {
			return fmt.Errorf("page has encoding %v, want plain, dictionary or delta length", encoding)
		}
		if m.Type == format.Boolean && encoding == format.RLE && slices.Contains(m.Encoding, format.Plain) {
			return fmt.Errorf("page has truth values in encoding %v among pages in %v, want one encoding", encoding, format.Plain)
		}
		if _, err := in.Discard(int(h.CompressedPageSize)); err != nil {
			return fmt.Errorf("page after %d values: %w", values, err)
		}
		if h.Type != format.DictionaryPage {
			values += int64(n)
		}
	}
	return nil
}

// countOf returns how many values a page has, and how they are written.
func countOf(h *format.PageHeader) (int32, format.Encoding) {
	switch h.Type {
	case format.DictionaryPage:
		return h.DictionaryPageHeader.V.NumValues, h.DictionaryPageHeader.V.Encoding
	case format.DataPageV2:
		return h.DataPageHeaderV2.V.NumValues, h.DataPageHeaderV2.V.Encoding
	default:
		return h.DataPageHeader.V.NumValues, h.DataPageHeader.V.Encoding
	}
}
