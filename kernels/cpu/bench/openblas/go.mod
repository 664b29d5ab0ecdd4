module furlong/kernels/cpu/bench/openblas

go 1.26.0

require furlong v0.0.0

require golang.org/x/sys v0.50.0 // indirect

replace furlong => ../../../..
