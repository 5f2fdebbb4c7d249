package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/clewops/clew/internal/artifact"
	"github.com/clewops/clew/internal/secret"
	"github.com/clewops/clew/internal/store"
)

// theKey is the artifacts' key once it was opened.
type theKey struct {
	mu     sync.Mutex
	keeper *artifact.Keeper
}

// theKeeper opens the artifacts' key, and sees that it is the one of the configurations that the store holds: what is
// encrypted with another one could be approved and never be sent. The key is made on first use, which is before the store
// holds any configuration, and never again.
func (a *app) theKeeper(ctx context.Context, st *store.Store) (*artifact.Keeper, error) {
	a.wired.key.mu.Lock()
	defer a.wired.key.mu.Unlock()
	if a.wired.key.keeper != nil {
		return a.wired.key.keeper, nil
	}
	c, err := a.settings()
	if err != nil {
		return nil, err
	}
	path, err := c.KeyFile()
	if err != nil {
		return nil, err
	}
	newest, err := st.NewestArtifact(ctx)
	if err != nil {
		return nil, err
	}
	open := artifact.Open
	if newest == "" {
		open = artifact.Create
	}
	k, err := open(path)
	if err == nil && newest != "" {
		if err = k.Opens(newest); errors.Is(err, artifact.ErrOtherKey) {
			err = fmt.Errorf("the key file %q: it holds another key than the one that the store's configurations are encrypted with", path)
		} else if err != nil {
			err = fmt.Errorf("the newest configuration in the store: %w", err)
		}
	}
	if err != nil && newest != "" {
		err = fmt.Errorf("%w. Without that key no stored configuration can be sent, compared or gone back to: put its copy there, "+
			"or name it with CLEW_KEY_FILE. Where it is lost for good, only a new store can go on from what the machines run", err)
	}
	if err != nil {
		return nil, withNext(err, "clew whoami")
	}
	a.wired.key.keeper = k
	return k, nil
}

// lateKeeper opens the key when something is decrypted: reading a machine needs none.
type lateKeeper struct {
	ctx   context.Context // the command's: the executor's interface has none
	app   *app
	store *store.Store
}

// Unseal implements executor.Keeper.
func (l lateKeeper) Unseal(armored string) (secret.Bytes, error) {
	k, err := l.app.theKeeper(context.WithoutCancel(l.ctx), l.store)
	if err != nil {
		return secret.Bytes{}, err
	}
	b, err := k.Unseal(armored)
	if errors.Is(err, artifact.ErrOtherKey) {
		err = withNext(err, "clew whoami")
	}
	return b, err
}
