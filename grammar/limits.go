package grammar

// What a source may ask for. A compiler that meets a limit says so; none of them changes what a grammar means.
const (
	maxSource   = 1 << 20 // bytes of a source
	maxNested   = 256     // levels of a schema or of brackets in Backus-Naur form
	maxNodes    = 1 << 18 // nodes of a grammar, counted before they are made deterministic and again afterwards
	maxTriggers = 1 << 12 // bytes of the triggers of a structural tag
	maxRules    = 1 << 14 // rules of a grammar
	maxWork     = 1 << 22 // nodes looked at to make a grammar deterministic: about a second
	maxParts    = 1 << 18 // parts of schemas looked at: alternatives multiply
)

// What a reader may take. Meeting one of these leaves tokens out that might be allowed, never the other way round; Matcher.Narrowed counts it.
const (
	maxPairs  = 1 << 12  // places that a text may have come to
	maxEffort = 1 << 19  // places looked at for one mask: under 100 ms
	maxMemory = 32 << 20 // bytes that a grammar and a vocabulary remember together before they start again
)
