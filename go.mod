module furlong

go 1.26
