package act

import (
	"slices"
	"strings"
	"time"
)

// Schema is the version of the recognisers' format that this package reads.
const Schema = "clew-recogniser/1"

// Recogniser is the data of one tool: what its command lines mean. Shipped ones are compiled into a table; users write
// their own as files of the same format.
type Recogniser struct {
	Tool          string
	Release       string   // of the data, as its author counts
	Executables   []string // base names
	Dialect       Dialect
	Environment   []Variable
	UncertainWith []string // variables that change what a command line means
	Kinds         []KindName
	ClusterScoped []string // kinds whose objects are in no namespace
	Namespace     string   // where it works when nothing else says so; empty: the context's
	NodesAre      string   // kind of what the selector nodes names; such a tool's targets are its nodes
	Flags         []Flag   // known to every command
	Sets          []FlagSet
	Groups        []Group
	When          []Rule // for every command, after its own
	Unreachable   []int  // exit statuses that can mean that the target was not reached
	Commands      []Command
}

// Dialect is how a tool reads its command line.
type Dialect string

// Dialects.
const (
	GNU    Dialect = "gnu" // -n x, -nx, -n=x, -abc, --name x, --name=x, anywhere before --
	GoFlag Dialect = "go"  // -name=x, -name x, --name; flags end at the first argument
)

// Variable is an environment variable that selects something.
type Variable struct {
	Name    string
	Selects SelectorName
}

// KindName is a kind with the names by which a command line may call it.
type KindName struct {
	Kind    string
	Aliases []string
}

// Arity is how many values a flag takes.
type Arity int

// Arities.
const (
	Switch   Arity = iota // none, but --name=true and --name=false are read
	Value                 // one: the rest of the word, or the next word
	Optional              // one, after = only
	Many                  // every word up to the next flag
)

// Flag is one flag of a tool. What it may have recorded is its Shape: none unless said.
type Flag struct {
	Long    string // without hyphens
	Short   string // one letter, or empty
	Arity   Arity
	Shape   Shape
	Enum    []string // for ShapeEnum
	Selects SelectorName
	Kind    string // its values name targets of this kind
	Input   bool   // its value holds manifests: targets that are not on the command line
}

// FlagSet is a named list of flags that several commands share.
type FlagSet struct {
	Name  string
	Flags []Flag
}

// Group is a word, or words, with commands below it, whose flags all of them know.
type Group struct {
	Words []string
	Flags []Flag
}

// Command is what one verb means.
type Command struct {
	Words       []string // each may have alternatives: kustomization|ks
	Class       Class
	Local       bool   // touches no cluster
	Operation   string // empty: its words
	Args        Args
	On          []string // kinds of which there is one in a cluster, and that it works on besides: flux, apiserver
	Use         []string // names of flag sets
	Flags       []Flag
	Effect      string
	Envelope    []Expectation
	Tail        time.Duration
	Outcome     Observe
	NoFailure   []int // exit statuses besides 0 that are no failure
	Unreachable []int // instead of the tool's
	When        []Rule
}

// ArgForm is how a command reads its arguments.
type ArgForm string

// Forms of arguments.
const (
	ArgsNone        ArgForm = "none"           // there are none
	ArgsOpaque      ArgForm = "opaque"         // they say nothing about targets, and are never recorded
	ArgsResources   ArgForm = "resources"      // TYPE[,TYPE] [NAME...] or TYPE/NAME...
	ArgsPairs       ArgForm = "resource-pairs" // resources, then KEY=VALUE, KEY- and the like
	ArgsOneResource ArgForm = "one-resource"   // NAME (of Kind) or TYPE/NAME, then anything
	ArgsNames       ArgForm = "names"          // names of Kind
	ArgsPodPath     ArgForm = "pod-path"       // [NAMESPACE/]POD:PATH among local paths
	ArgsRaw         ArgForm = "raw"            // nothing after the verb is read as a flag or an argument
)

// Args describes a command's arguments.
type Args struct {
	Form ArgForm
	Kind string
	Skip int // arguments before the first name
	Min  int // with fewer arguments none of them is a name
	Max  int // names at most; 0: all
	Rest int // arguments after those that name targets, never recorded; -1: any number
}

// Observe is how an act's outcome can be seen in the cluster.
type Observe string

// Observations. ObserveNothing means that no reading would tell.
const (
	ObserveNothing     Observe = ""
	ObserveRollout     Observe = "rollout"      // the workload's rollout is complete
	ObserveReconcile   Observe = "reconcile"    // the Flux object reconciled after the act's start
	ObserveSuspend     Observe = "suspend"      // spec.suspend is what was asked
	ObserveRelease     Observe = "release"      // the Helm release's status
	ObserveCordon      Observe = "cordon"       // spec.unschedulable is what was asked
	ObserveNodeReady   Observe = "node-ready"   // the node is Ready
	ObserveNodeBoot    Observe = "node-boot"    // its boot id changed, it is Ready and not cordoned
	ObserveNodeVersion Observe = "node-version" // as node-boot, and its version is the one asked for
	ObserveExists      Observe = "exists"
	ObserveGone        Observe = "gone"
	ObserveMembers     Observe = "etcd-members" // every member answers, one leads
	ObservePrimary     Observe = "primary"      // one primary, replicas follow it
)

// Observations lists every Observe but the empty one.
var Observations = []Observe{
	ObserveRollout, ObserveReconcile, ObserveSuspend, ObserveRelease, ObserveCordon, ObserveNodeReady, ObserveNodeBoot,
	ObserveNodeVersion, ObserveExists, ObserveGone, ObserveMembers, ObservePrimary,
}

// Rule changes what a command means, by its flags or its arguments. All conditions that are set must hold. Rules apply
// in their order; what a rule leaves empty stays.
type Rule struct {
	Flag     string   // long name; holds when the flag is given ...
	In       []string // ... and each of its values (or the argument Arg) is one of these
	Contains []string // ... and one of its values contains one of these
	Absent   bool     // the flag is not given
	Arg      int      // the argument with this number, from 1, is one of In
	Counted  bool     // the number of arguments is between AtLeast and AtMost
	AtLeast  int
	AtMost   int
	Final    bool // no rule after it applies

	Class     Class
	Local     bool
	Operation string
	Effect    string
	Envelope  []Expectation
	Tail      time.Duration
	Outcome   Observe
}

// SelectorName is what an option or a variable selects.
type SelectorName string

// Selectors.
const (
	SelectKubeconfig    SelectorName = "kubeconfig"
	SelectContext       SelectorName = "context"
	SelectCluster       SelectorName = "cluster"
	SelectUser          SelectorName = "user"
	SelectServer        SelectorName = "server"
	SelectNamespace     SelectorName = "namespace"
	SelectAllNamespaces SelectorName = "all-namespaces"
	SelectTalosconfig   SelectorName = "talosconfig"
	SelectNodes         SelectorName = "nodes"
	SelectEndpoints     SelectorName = "endpoints"
	SelectConfig        SelectorName = "config"
	SelectAccount       SelectorName = "account"
	SelectProject       SelectorName = "project"
	SelectRegion        SelectorName = "region"
	SelectZone          SelectorName = "zone"
	SelectWorkspace     SelectorName = "workspace"
	SelectDirectory     SelectorName = "directory"
	SelectHost          SelectorName = "host"
	SelectPort          SelectorName = "port"
	SelectDatabase      SelectorName = "database"
)

// SelectorNames lists every selector.
var SelectorNames = []SelectorName{
	SelectKubeconfig, SelectContext, SelectCluster, SelectUser, SelectServer, SelectNamespace, SelectAllNamespaces,
	SelectTalosconfig, SelectNodes, SelectEndpoints, SelectConfig, SelectAccount, SelectProject, SelectRegion, SelectZone,
	SelectWorkspace, SelectDirectory, SelectHost, SelectPort, SelectDatabase,
}

// isList says whether a selector takes several values, separated by commas and given repeatedly.
func (n SelectorName) isList() bool { return n == SelectNodes || n == SelectEndpoints }

// Selector is a choice of cluster, context, nodes and the like, by an option or a variable. Its values may be private
// (a URL with a password, a path): they serve to resolve the place and are never recorded as they are.
type Selector struct {
	Name        SelectorName
	Values      []string
	Environment bool // from the environment or the tool's own default
}

// fits says whether a word of a pattern, with its alternatives, is w.
func fits(pattern, w string) bool {
	for alternative := range strings.SplitSeq(pattern, "|") {
		if alternative == w {
			return true
		}
	}
	return false
}

// beginsWith says whether the path leads to words or to something above them.
func beginsWith(words, path []string) bool {
	if len(path) > len(words) {
		return false
	}
	for i, w := range path {
		if !fits(words[i], w) {
			return false
		}
	}
	return true
}

// command finds the command with exactly these words.
func (r *Recogniser) command(path []string) *Command {
	for i := range r.Commands {
		if c := &r.Commands[i]; len(c.Words) == len(path) && beginsWith(c.Words, path) {
			return c
		}
	}
	return nil
}

// goesOn says whether there is a command or a group at or below the path.
func (r *Recogniser) goesOn(path []string) bool {
	return slices.ContainsFunc(r.Commands, func(c Command) bool { return beginsWith(c.Words, path) }) ||
		slices.ContainsFunc(r.Groups, func(g Group) bool { return beginsWith(g.Words, path) })
}

// flagLists are the lists of flags that count at a path, the nearest first.
func (r *Recogniser) flagLists(path []string, c *Command) [][]Flag {
	var lists [][]Flag
	if c != nil {
		lists = append(lists, c.Flags)
		for _, name := range c.Use {
			for i := range r.Sets {
				if r.Sets[i].Name == name {
					lists = append(lists, r.Sets[i].Flags)
				}
			}
		}
	}
	for i := range r.Groups {
		if g := &r.Groups[i]; len(g.Words) <= len(path) && beginsWith(g.Words, path[:len(g.Words)]) {
			lists = append(lists, g.Flags)
		}
	}
	return append(lists, r.Flags)
}

// kind is the canonical name of a resource type as typed: po, pods, pods.v1. and Pod are pod. A type that is not listed
// stays as it was typed, in lower case.
func (r *Recogniser) kind(typed string) string {
	lower := strings.ToLower(typed)
	short, _, _ := strings.Cut(lower, ".")
	for _, name := range []string{lower, short} {
		for i := range r.Kinds {
			if r.Kinds[i].Kind == name || slices.Contains(r.Kinds[i].Aliases, name) {
				return r.Kinds[i].Kind
			}
		}
	}
	return lower
}
