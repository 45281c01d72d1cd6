import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { allows } from '../../api/session.ts'
import { address, go, linkTo, setQuery } from '../../frame/router.ts'
import { isRunning } from '../../live/request-list.ts'
import { beginAgain, now, refusal, requests, server, useServer } from '../../live/watch.ts'
import type { Model } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { Button } from '../../ui/button.tsx'
import { Command } from '../../ui/copy.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { formatBytes, formatCount, plural } from '../../ui/numbers.ts'
import { PlaceHead } from '../../ui/place-head.tsx'
import { Empty, Failure, Progress } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { wordsOf } from '../activity/request-texts.ts'
import { AddModel } from './add-model.tsx'
import { Memory, memoryOf, memoryOfDevice } from './memory.tsx'
import { ModelDetail } from './model-detail.tsx'
import { ModelState, stateOf } from './model-state.tsx'
import { pull, pulls } from './pulls.ts'

const texts = placeTexts.models

/** The models: their state and needs, and loading and unloading them. */
export function Models() {
  useServer()
  const [isAdding, setAdding] = useState(address.peek().query.add !== undefined)
  const [ending, setEnding] = useState<Model>()
  const [problem, setProblem] = useState<unknown>()
  const { query, parts } = address.value
  const state = server.value
  const words = wordsOf(query.filter)
  const shown = state?.models.filter((model) => matches(model, words))
  const mayLoad = allows('admin') && state?.can_load === true
  const act = (path: string, body: object) => {
    setProblem(undefined)
    call(path, { body }).catch(setProblem)
  }
  const acts: Acts = {
    load: (model) => act('api/inference/load', { model_path: model.id }),
    unload: setEnding,
  }
  const closeAdding = () => {
    setAdding(false)
    if (query.add !== undefined) setQuery({ add: undefined })
  }
  const open = (id: string | undefined) => go(linkTo('models', id === undefined ? [] : [id], query))
  const ready = state?.models.filter(({ state: each }) => each === 'ready').length ?? 0
  return (
    <>
      <PlaceHead
        title={texts.title}
        filter={texts.filter}
        {...(state !== undefined && { matters: placeTexts.overview.ready(ready, state.models.length) })}
      >
        {mayLoad && (
          <Button kind="primary" onClick={() => setAdding(true)}>
            {texts.add}
          </Button>
        )}
      </PlaceHead>
      {problem !== undefined && <Failure error={problem} />}
      <Pulls />
      {state?.memory !== undefined && <Memory {...memoryOf(state.memory)} />}
      {state?.devices?.map((device) => (
        <Memory key={device.name} {...memoryOfDevice(device)} />
      ))}
      {refusal.value !== undefined && state === undefined ? (
        <div class="place-body">
          <Failure error={refusal.value} onRetry={beginAgain} />
        </div>
      ) : state?.models.length === 0 ? (
        <Empty title={texts.none}>
          <p>{state.can_load ? texts.noneWhy : texts.fixed}</p>
          <Command text="dragoman load hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M" what="the command" />
        </Empty>
      ) : shown?.length === 0 ? (
        <Empty title={texts.noMatch(query.filter ?? '')}>{null}</Empty>
      ) : (
        <div class="place-body flush">
          <Table
            label={texts.label}
            columns={columnsFor(acts, mayLoad)}
            rows={shown}
            waits={placeTexts.asking.models}
            idOf={({ id }) => id}
            open={parts[0]}
            onOpen={open}
            detail={(model) => <ModelDetail model={model} nowMs={now.value} />}
          />
        </div>
      )}
      {isAdding && mayLoad && <AddModel onClose={closeAdding} />}
      {ending !== undefined && (
        <Confirm
          title={ending.added === true ? texts.removeTitle(ending.id) : texts.unloadTitle(ending.id)}
          action={ending.added === true ? texts.remove : texts.unload}
          onClose={() => setEnding(undefined)}
          onConfirm={() => act('api/inference/unload', { model_path: ending.id, force_cancel_active: true })}
        >
          <p>{whatEnds(ending)}</p>
        </Confirm>
      )}
    </>
  )
}

type Acts = { readonly load: (model: Model) => void; readonly unload: (model: Model) => void }

function matches({ id, aliases, state, abilities }: Model, words: readonly string[]): boolean {
  const all = [id, ...aliases, texts.state[state], state, ...abilities].join(' ').toLowerCase()
  return words.every((word) => all.includes(word))
}

/** The number of requests that an unload would end. */
function whatEnds({ id, running, waiting, added }: Model): string {
  const ending = requests.value?.filter((request) => isRunning(request) && request.model === id) ?? []
  const count = Math.max(ending.length, running + waiting)
  if (count === 0) return added === true ? texts.removeQuiet : texts.unloadQuiet
  const callers = Math.max(1, new Set(ending.map(({ key }) => key)).size)
  return texts.ends(plural(count, 'running request'), plural(callers, 'caller'))
}

/** Models being fetched by name that are not in the list yet. */
function Pulls() {
  return (
    <>
      {pulls.value.map(({ name, status, part, error, stop }) =>
        error === undefined ? (
          <div key={name} class="memory">
            <span class="row">
              <span class="clip">
                {texts.pulling(name)} <span class="muted">{status}</span>
              </span>
              <Button kind="in-row" onClick={stop}>
                {texts.cancelLoad}
              </Button>
            </span>
            <Progress part={part} name={texts.pulling(name)} />
            <span class="small muted">{texts.leaving}</span>
          </div>
        ) : (
          <Failure key={name} error={`${name}: ${error}`} onRetry={() => void pull(name)} onDone={stop} />
        ),
      )}
    </>
  )
}

function columnsFor({ load, unload }: Acts, mayLoad: boolean): readonly Column<Model>[] {
  const { columns } = texts
  const all: readonly Column<Model>[] = [
    {
      name: columns.model,
      room: 'small',
      title: ({ id, aliases }) => [id, ...aliases].join(', '),
      cell: ({ id, aliases }) => (
        <>
          {id} {aliases.length > 0 && <span class="muted small">{aliases.join(', ')}</span>}
        </>
      ),
    },
    { name: columns.state, room: 'small', title: ({ reason = '' }) => reason, cell: (model) => <ModelState model={model} /> },
    {
      name: columns.memory,
      room: 'medium',
      isNumber: true,
      title: ({ memory_bytes: held = 0, file_bytes: file = 0 }) => `${formatCount(held > 0 ? held : file)} bytes`,
      cell: ({ memory_bytes: held = 0, file_bytes: file, residency }) =>
        held > 0 ? (
          <span class={residency === 'loaded' ? '' : 'muted'}>{formatBytes(held)}</span>
        ) : (
          file !== undefined && <span class="muted">{texts.needs(formatBytes(file))}</span>
        ),
    },
    {
      name: columns.context,
      room: 'medium',
      isNumber: true,
      cell: ({ context_length: length }) => (length === undefined ? '' : formatCount(length)),
    },
    {
      name: columns.abilities,
      room: 'large',
      cell: ({ abilities }) => abilities.filter((each) => each !== 'completion').join(', '),
    },
    {
      name: columns.queue,
      room: 'medium',
      cell: ({ running, slots, waiting }) => (
        <>
          {texts.queue(running, slots)}
          {waiting > 0 && <span class="warn"> {texts.waiting(waiting)}</span>}
        </>
      ),
    },
    {
      name: columns.act,
      room: 'small',
      isAction: true,
      cell: (model) => {
        if (!mayLoad || model.servers !== undefined) return null
        const state = stateOf(model)
        const [label, doIt] =
          state === 'stopped' || state === 'failed'
            ? [texts.load, load]
            : [model.added === true ? texts.remove : state === 'ready' ? texts.unload : texts.cancelLoad, unload]
        return (
          <Button kind="in-row" of={model.id} onClick={() => doIt(model)}>
            {label}
          </Button>
        )
      },
    },
  ]
  return all.filter(({ name }) => mayLoad || name !== columns.act)
}
