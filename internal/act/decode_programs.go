package act

// ProgramSchema is the version of the list of programs that this package reads.
const ProgramSchema = "clew-programs/1"

// DecodePrograms reads the list of known agents and pipelines from a parsed file, as strictly as a recogniser.
func DecodePrograms(file string, t Tree) ([]Program, error) {
	r := &reader{}
	f := r.fields(t, "the list", "schema", "programs")
	if s := f["schema"]; s.Text != ProgramSchema {
		r.mistake(t, "this version of clew reads the schema %s", ProgramSchema)
	}
	var list []Program
	for _, item := range r.items(f["programs"], "programs") {
		p := r.program(item)
		for _, have := range list {
			if have.Name == p.Name {
				r.mistake(item, "%q stands here twice", p.Name)
			}
		}
		list = append(list, p)
	}
	return list, r.failed(file)
}

func (r *reader) program(t Tree) Program {
	f := r.fields(t, "a program", "name", "kind", "id", "signs", "executables", "scripts")
	p := Program{Name: r.text(f["name"], "name"), Kind: oneOf(r, f["kind"], "kind", []SessionKind{Agent, Pipeline})}
	for key, into := range map[string]*[]string{"id": &p.ID, "signs": &p.Signs, "executables": &p.Executables, "scripts": &p.Scripts} {
		if list, ok := f[key]; ok {
			*into = r.texts(list, key)
		}
	}
	if len(p.ID) == 0 && len(p.Signs) == 0 && len(p.Executables) == 0 && len(p.Scripts) == 0 {
		r.mistake(t, "nothing would show this program: give id, signs, executables or scripts")
	}
	return p
}
