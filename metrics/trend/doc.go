// Package trend says where a series goes: a moving average that never rewrites the past, and a line with what noise leaves open.
//
// [Average] looks back only, so that a point, once drawn, stays where it is; its length follows from the plan of the run and not from what has been measured.
// [Fit] is least squares. Neighbouring cycles have nearly one policy and so resemble each other; the line counts n rows whose
// residuals are correlated by r from neighbour to neighbour as n(1-r)/(1+r) rows, and its intervals are wider for it. [Thin] picks the rows that a picture of so many pixels needs, and leaves
// those as they are: it averages nothing and drops no spike.
//
// Page, report and terminal compute all of this here, so that one run has one average and one slope.
//
// Shapes: x and y have one entry a row. Units: those of the series; a slope is per unit of x.
// Errors: none; too few rows give no line, and values that are not finite are passed over.
// Sources: Student's distribution by the continued fraction of the incomplete beta function, DLMF 8.17.22; the effective number of rows is that of a
// first-order autoregression; the four rows a pixel are M4 (Jugel and others, VLDB 2014).
package trend
