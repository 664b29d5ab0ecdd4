// Package browser tries the pages of package page in a real browser: headless Chromium, driven by chromedp, on the server of furlong dash.
//
// It is a module of its own, so that what drives a browser is nowhere near the program. Its tests build the program and the maker of runs,
// make a run with faults in known places, train a short one, serve both, and visit: what a page shows is held against the files of the run.
//
// Shapes: all tests have one browser; a tab is one page with its console and storage of its own. Whatever the console gets fails the test.
// Units: those of the pages.
// Errors: none; without a Chromium every test is skipped with a line that says so.
// Sources: pictures of each screen are kept in the folder screenshots, those of the run before taken out; FURLONG_TEST_SCREENSHOTS names another folder.
// FURLONG_TEST_CHROMIUM names the browser, FURLONG_TEST_AXE a copy of axe.min.js, FURLONG_TEST_PLACE a folder that keeps the runs for the next time.
package browser
