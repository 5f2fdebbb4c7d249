package act

//go:generate go test ../wrap/recogniserfile -run TestTableIsCurrent -update

// Shipped are the recognisers that come with the program. The table behind them is written from the YAML files of
// recognisers and lies in the program as data: a wrapper that starts for every command has no time to parse them.
func Shipped() []*Recogniser {
	list := make([]*Recogniser, len(shippedRecognisers))
	for i := range shippedRecognisers {
		list[i] = &shippedRecognisers[i]
	}
	return list
}

// ShippedFor finds the shipped recogniser of a program by the program's name.
func ShippedFor(argv0 string) *Recogniser {
	name := ProgramName(argv0)
	for i := range shippedRecognisers {
		for _, e := range shippedRecognisers[i].Executables {
			if e == name {
				return &shippedRecognisers[i]
			}
		}
	}
	return nil
}

// Programs are the agents and pipelines that are known by name.
func Programs() []Program { return shippedPrograms[:] }
