module github.com/clewops/clew/tools

go 1.26.5

tool mvdan.cc/gofumpt

require (
	github.com/gordonklaus/ineffassign v0.2.0
	github.com/kisielk/errcheck v1.20.0
	github.com/ldez/usetesting v0.5.0
	github.com/nishanths/exhaustive v0.13.0
	github.com/polyfloyd/go-errorlint v1.8.0
	github.com/ryanrolds/sqlclosecheck v0.6.0
	github.com/timakin/bodyclose v0.0.0-20260723120731-857993a2939c
	go-simpler.org/sloglint v0.12.0
	golang.org/x/tools v0.48.0
	honnef.co/go/tools v0.8.1
)

require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	github.com/ettle/strcase v0.2.0 // indirect
	github.com/gostaticanalysis/analysisutil v0.7.1 // indirect
	github.com/gostaticanalysis/comment v1.4.2 // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.38.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/tools/go/packages/packagestest v0.1.1-deprecated // indirect
	mvdan.cc/gofumpt v0.11.0 // indirect
)
