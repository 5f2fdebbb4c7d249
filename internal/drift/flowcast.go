package drift

// forecast is what becomes of a difference of a field.
func (in Input) forecast(c subjectCase, f finding) Forecast {
	e := c.prediction.effect(f)
	if len(c.Others) > 0 && e.Outcome == Reverted {
		e.Why = "also rendered by " + c.Others[0] + ", which sets it again"
	}
	return in.held(c, e)
}

// goneForecast is what becomes of an object that the cluster has not: it is created, unless git says that it is not to be
// touched.
func (in Input) goneForecast(c subjectCase) Forecast {
	switch {
	case c.prediction.unsure != "":
		return in.held(c, Effect{Outcome: Unsure, Why: c.prediction.unsure})
	case c.prediction.skipped != "":
		return in.held(c, Effect{Outcome: Survives, Why: c.prediction.skipped})
	}
	return in.held(c, Effect{Outcome: Reverted, Why: "the object is created"})
}

// leftForecast is what becomes of an object that git has not: it is pruned if the inventory has it and nothing forbids.
func (in Input) leftForecast(c subjectCase) Forecast {
	switch why := pruneRefusal(in.Flow, c.Subject); {
	case !c.Listed:
		return in.held(c, Effect{Outcome: Survives, Why: "it is in no inventory, so nothing prunes it"})
	case why != "":
		return in.held(c, Effect{Outcome: Survives, Why: why})
	}
	return in.held(c, Effect{Outcome: Pruned})
}

// held is an effect under what holds reconciling back. A suspension says nothing about what comes after it, so that the
// effect at a resume stands beside.
func (in Input) held(c subjectCase, e Effect) Forecast {
	f := in.Flow
	free := e
	if f.Blocked != "" && StageOf(c.Identity) >= f.BlockedStage && c.prediction.refused == "" &&
		(f.BlockedAt == "" || f.ArtifactRevision == "" || f.BlockedAt == f.ArtifactRevision) {
		free = Effect{Outcome: Survives, Why: f.Blocked}
	}
	if !f.Suspended {
		return Forecast{Next: free}
	}
	return Forecast{Next: Effect{Outcome: Survives, Why: "the Kustomization is suspended"}, Resumed: &free}
}
