import { useEffect, useState } from 'preact/hooks'
import { follow } from '../../api/live.ts'
import { apiKey } from '../../api/session.ts'
import { address, go, linkTo, setQuery } from '../../frame/router.ts'
import { now, useServer } from '../../live/watch.ts'
import type { LogLine } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { Command } from '../../ui/copy.tsx'
import { formatTime, fullTime } from '../../ui/numbers.ts'
import { PlaceHead } from '../../ui/place-head.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { Empty, Failure } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { wordsOf } from '../activity/request-texts.ts'

const texts = placeTexts.logs
const levels = ['debug', 'info', 'warn', 'error', 'fatal'] as const
/** More than the server keeps. */
const mostLines = 5000

/** The log of the server as it is written, the newest line first. */
export function Logs() {
  useServer()
  const { query, parts } = address.value
  const level = levels.find((each) => each === query.level) ?? 'info'
  const [lines, setLines] = useState<readonly LogLine[]>()
  const [missed, setMissed] = useState(0)
  const [problem, setProblem] = useState<string>()
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const leaving = new AbortController()
    setLines(undefined)
    setMissed(0)
    setProblem(undefined)
    const take = (event: string, data: unknown) => {
      if (event !== 'logs') return
      const { lines: more, missed: lost } = data as { readonly lines: readonly LogLine[]; readonly missed: number }
      setLines((before) => join(before ?? [], more))
      setMissed((before) => before + lost)
    }
    const path = `api/events?topics=logs&recent=2000&level=${level}`
    void follow(path, { take, refused: setProblem, signal: leaving.signal })
    return () => leaving.abort()
  }, [level, apiKey.value, turn])
  const words = wordsOf(query.filter)
  const shown = words.length === 0 ? lines : lines?.filter((line) => matches(line, words))
  return (
    <>
      <PlaceHead title={texts.title} filter={texts.filter}>
        <label class="row">
          <span class="unseen">{texts.level}</span>
          <select class="field" value={level} onChange={(event) => setQuery({ level: event.currentTarget.value })}>
            {levels.map((each) => (
              <option key={each} value={each}>
                {texts.from(each)}
              </option>
            ))}
          </select>
        </label>
      </PlaceHead>
      {missed > 0 && <p class="note">{texts.missed(missed)}</p>}
      {problem !== undefined ? (
        <div class="place-body">
          <Failure error={problem} onRetry={() => setTurn(turn + 1)} />
        </div>
      ) : lines?.length === 0 ? (
        <Empty title={texts.none}>
          <p>{texts.noneWhy}</p>
          <Command text={'log:\n  level: debug'} what="the setting" />
        </Empty>
      ) : shown?.length === 0 ? (
        <Empty title={texts.noMatch(query.filter ?? '')}>{null}</Empty>
      ) : (
        <div class="place-body flush">
          <Table
            label={texts.label}
            columns={columns}
            rows={shown}
            waits={placeTexts.asking.logs}
            idOf={idOf}
            open={parts[0]}
            onOpen={(id) => go(linkTo('logs', id === undefined ? [] : [id], query))}
            detail={(line) => <LineDetail line={line} />}
          />
        </div>
      )}
    </>
  )
}

/** A restarted server counts anew: with the time, an address opens no other line. */
function idOf({ number, at_ms: at }: LogLine): string {
  return `${at}-${number}`
}

/** The newest first; a stream that begins anew sends lines again. */
function join(before: readonly LogLine[], more: readonly LogLine[]): readonly LogLine[] {
  const newest = before[0]
  // A restarted server counts anew.
  const isNewRun = newest !== undefined && more.some(({ number, at_ms }) => number <= newest.number && at_ms > newest.at_ms)
  const last = newest === undefined || isNewRun ? -1 : newest.number
  const added = more.filter(({ number }) => number > last).reverse()
  return [...added, ...(isNewRun ? [] : before)].slice(0, mostLines)
}

function factsText({ facts }: LogLine): string {
  // Ids are long, and the least informative.
  const isLast = ([name]: [string, unknown]) => Number(/id$/i.test(name))
  return Object.entries(facts)
    .sort((a, b) => isLast(a) - isLast(b))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}

function matches(line: LogLine, words: readonly string[]): boolean {
  const all = `${line.level} ${line.message} ${factsText(line)}`.toLowerCase()
  return words.every((word) => all.includes(word))
}

const tones = { trace: 'off', debug: 'off', info: 'off', warn: 'warn', error: 'bad', fatal: 'bad' } as const

const columns: readonly Column<LogLine>[] = [
  {
    name: texts.columns.time,
    room: 'small',
    title: ({ at_ms: at }) => fullTime(at),
    cell: ({ at_ms: at }) => formatTime(at, now.value),
  },
  { name: texts.columns.level, room: 'small', cell: ({ level }) => <StateWord tone={tones[level]} text={level} /> },
  {
    name: texts.columns.message,
    room: 'small',
    fills: true,
    title: ({ message }) => message,
    cell: (line) => (
      <>
        {line.message} <code class="muted">{factsText(line)}</code>
      </>
    ),
  },
]

function LineDetail({ line }: { readonly line: LogLine }) {
  const json = JSON.stringify(
    { time: new Date(line.at_ms).toISOString(), level: line.level, message: line.message, ...line.facts },
    null,
    2,
  )
  return <Command text={json} what={texts.copyLine} />
}
