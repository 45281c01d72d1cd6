import { useMemo, useState } from 'preact/hooks'
import { apiBase } from '../../api/base.ts'
import { call, describe } from '../../api/client.ts'
import { allows } from '../../api/session.ts'
import { address, go, linkTo, setQuery } from '../../frame/router.ts'
import { isRunning } from '../../live/request-list.ts'
import { beginAgain, missed, now, refusal, requests, server, useServer } from '../../live/watch.ts'
import type { WatchedRequest } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { Button } from '../../ui/button.tsx'
import { Command } from '../../ui/copy.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { download } from '../../ui/download.ts'
import { formatCount, formatMs, formatRate, formatTime, fullTime, plural } from '../../ui/numbers.ts'
import { PlaceHead } from '../../ui/place-head.tsx'
import { say } from '../../ui/said.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { Empty, Failure, Progress } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Batches } from './batches.tsx'
import { RequestDetail } from './request-detail.tsx'
import { durationOf, matches, protocolOf, speedOf, stateText, wordsOf } from './request-texts.ts'

const texts = placeTexts.activity

/** The requests as they arrive, the newest first. */
export function Activity() {
  useServer()
  const [problem, setProblem] = useState<string>()
  const [ending, setEnding] = useState<readonly WatchedRequest[]>()
  const { query, parts } = address.value
  const [open] = parts
  const all = requests.value
  const words = wordsOf(query.filter)
  const shown = words.length === 0 ? all : all?.filter((request) => matches(request, words))
  const running = all?.filter(isRunning).length ?? 0
  const stoppable = shown?.filter(isRunning) ?? []
  const stop = async ({ id }: WatchedRequest) => {
    try {
      await call('api/inference/cancel', { body: { completion_id: id } })
      setProblem(undefined)
    } catch (error) {
      setProblem(describe(error))
    }
  }
  // Kept, so that unchanged rows are not rendered again.
  const columns = useMemo(() => columnsFor(stop), [allows('admin')])
  return (
    <>
      <PlaceHead title={texts.title} filter={texts.filter} {...(running > 0 && { matters: placeTexts.running(running) })}>
        {(stoppable.length > 1 || ending !== undefined) && <Button onClick={() => setEnding(stoppable)}>{texts.stopAll}</Button>}
        <Button title={texts.saveTitle} disabled={shown === undefined || shown.length === 0} onClick={() => save(shown ?? [])}>
          {texts.save}
        </Button>
      </PlaceHead>
      {problem !== undefined && <Failure error={problem} />}
      {missed.value > 0 && <p class="note">{placeTexts.missed(missed.value)}</p>}
      <Batches />
      {refusal.value !== undefined && all === undefined ? (
        <div class="place-body">
          <Failure error={refusal.value} onRetry={beginAgain} />
        </div>
      ) : all?.length === 0 ? (
        <NoActivity />
      ) : shown?.length === 0 ? (
        <Empty title={texts.noMatch(query.filter ?? '')}>
          <p>
            <Button onClick={() => setQuery({ filter: undefined })}>{texts.showAll}</Button>
          </p>
        </Empty>
      ) : (
        <div class="place-body flush">
          <Table
            label={texts.label}
            columns={columns}
            rows={shown}
            waits={placeTexts.asking.requests}
            idOf={({ id }) => id}
            open={open}
            onOpen={(id) => go(linkTo('activity', id === undefined ? [] : [id], query))}
            detail={(request) => <RequestDetail request={request} onStop={stop} />}
          />
        </div>
      )}
      {ending !== undefined && (
        <Confirm
          title={texts.stopAllTitle}
          action={texts.stopAll}
          onClose={() => setEnding(undefined)}
          onConfirm={() => void Promise.all(ending.map(stop))}
        >
          <p>{whatEnds(ending)}</p>
        </Confirm>
      )}
    </>
  )
}

function whatEnds(requests: readonly WatchedRequest[]): string {
  const callers = new Set(requests.map(({ key }) => key)).size
  return placeTexts.models.ends(plural(requests.length, 'running request'), plural(callers, 'caller'))
}

/** An example request, for an empty list. */
function NoActivity() {
  const [model] = server.value?.models ?? []
  const body = JSON.stringify({ model: model?.id ?? 'default', messages: [{ role: 'user', content: 'Hello' }] })
  const key = allows('admin') ? '' : ' \\\n  -H "authorization: Bearer $DRAGOMAN_API_KEY"'
  return (
    <Empty title={texts.none}>
      <p>{texts.noneWhy}</p>
      <Command
        text={`curl ${apiBase()}/chat/completions${key} \\\n  -H 'content-type: application/json' \\\n  -d '${body}'`}
        what={texts.curl}
      />
    </Empty>
  )
}

function save(shown: readonly WatchedRequest[]): void {
  const lines = shown.map((each) => `${JSON.stringify(each)}\n`)
  download(new Blob(lines, { type: 'application/jsonl' }), 'requests.jsonl')
  say(`${texts.save}: ${formatCount(shown.length)}`)
}

const tones = { done: 'good', failed: 'bad', cancelled: 'off' } as const

function RequestState({ request }: { readonly request: WatchedRequest }) {
  const tone = request.state in tones ? tones[request.state as keyof typeof tones] : 'run'
  return <StateWord tone={tone} text={stateText(request)} />
}

const hourMs = 3_600_000

/** Only relative times follow the clock. */
function timeText(atMs: number): string {
  return formatTime(atMs, now.peek() - atMs < hourMs ? now.value : now.peek())
}

function columnsFor(stop: (request: WatchedRequest) => unknown): readonly Column<WatchedRequest>[] {
  const { columns } = texts
  const count = (value: number | undefined) => (value === undefined ? '' : formatCount(value))
  const all: readonly Column<WatchedRequest>[] = [
    {
      name: columns.time,
      room: 'small',
      title: ({ started_at_ms: at }) => fullTime(at),
      cell: ({ started_at_ms: at }) => timeText(at),
    },
    {
      name: columns.model,
      room: 'small',
      title: ({ model, requested_model: asked }) => model ?? asked ?? '',
      cell: ({ model, requested_model: asked }) => model ?? <span class="muted">{asked}</span>,
    },
    { name: columns.caller, room: 'medium', cell: ({ key }) => key },
    {
      name: columns.protocol,
      room: 'large',
      title: ({ route }) => route,
      cell: ({ route }) => protocolOf(route),
    },
    {
      name: columns.state,
      room: 'small',
      title: ({ error }) => error?.message ?? '',
      cell: (request) => (
        <>
          <RequestState request={request} />
          {request.state === 'loading' && request.progress !== undefined && (
            <Progress part={request.progress} name={stateText(request)} />
          )}
        </>
      ),
    },
    { name: columns.prompt, room: 'medium', isNumber: true, cell: ({ input_tokens: tokens }) => count(tokens) },
    {
      name: columns.cached,
      room: 'large',
      isNumber: true,
      cell: ({ cached_tokens: cached = 0 }) => (cached === 0 ? '' : formatCount(cached)),
    },
    { name: columns.output, room: 'medium', isNumber: true, cell: ({ output_tokens: tokens }) => count(tokens) },
    {
      name: columns.speed,
      room: 'large',
      isNumber: true,
      title: (request) => speedOf(request)?.toFixed(3) ?? '',
      cell: (request) => {
        const speed = speedOf(request)
        return speed === undefined ? '' : formatRate(speed)
      },
    },
    {
      name: columns.duration,
      room: 'medium',
      isNumber: true,
      title: (request) => `${durationOf(request, now)} ms`,
      cell: (request) => formatMs(durationOf(request, now)),
    },
    {
      name: columns.act,
      room: 'small',
      isAction: true,
      cell: (request) =>
        isRunning(request) && (
          <Button kind="in-row" onClick={() => stop(request)}>
            {texts.stop}
          </Button>
        ),
    },
  ]
  // A key without `admin` sees only its own requests.
  return all.filter(({ name }) => name !== columns.caller || allows('admin'))
}
