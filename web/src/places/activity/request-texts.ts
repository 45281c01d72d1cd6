import { isRunning } from '../../live/request-list.ts'
import type { WatchedRequest } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { formatCount } from '../../ui/numbers.ts'

const texts = placeTexts.activity
const ends = ['th', 'st', 'nd', 'rd']

/** `3rd` */
export function ordinal(position: number): string {
  const tens = position % 100
  return `${position}${(tens > 10 && tens < 14 ? undefined : ends[position % 10]) ?? 'th'}`
}

/** The present state of a request, or its end, in words. */
export function stateText(request: WatchedRequest): string {
  const { state } = texts
  switch (request.state) {
    case 'preparing':
      return state.preparing
    case 'waiting':
      return state.waiting(ordinal(request.position ?? 1))
    case 'loading':
      if (request.waits_for === 'memory') return state.waitsForMemory
      if (request.waits_for === 'files') return state.waitsForFiles
      return state.loading(Math.round(100 * (request.progress ?? 0)))
    case 'reading_prompt':
      return state.reading
    case 'generating':
      return state.tokens(formatCount(request.output_tokens ?? 0))
    case 'done':
      return state.done
    case 'failed':
      return state.failed
    case 'cancelled': {
      const { by, reason } = request.cancelled ?? {}
      if (by !== undefined) return state.cancelledBy(by)
      return reason === 'client-gone' ? state.cancelledBy('client') : state.cancelled
    }
  }
}

const names: readonly (readonly [RegExp, string])[] = [
  [/chat\/completions/, 'OpenAI chat'],
  [/\/messages/, 'Messages'],
  [/\/responses/, 'Responses'],
  [/\/embed/, 'embeddings'],
  [/rerank/, 'rerank'],
  [/\/score/, 'score'],
  [/^\/v1\/completions/, 'OpenAI text'],
  [/^\/api\/(chat|generate)$/, 'Ollama'],
  [/^\/(completion|infill)/, 'llama-server'],
]

/** The protocol of a route, for people. */
export function protocolOf(route: string): string {
  return names.find(([pattern]) => pattern.test(route))?.[1] ?? route
}

/** The time that a request has taken so far. `now` is read only if needed, since a component that reads a signal is rendered with it. */
export function durationOf(request: WatchedRequest, now: { readonly value: number }): number {
  const { started_at_ms: start, ended_at_ms: end } = request
  return Math.max(0, (end ?? now.value) - start)
}

/** Tokens per second during generation; undefined if unknown. */
export function speedOf({ output_tokens: tokens = 0, timings }: WatchedRequest): number | undefined {
  const ms = timings?.decode_ms
  return ms === undefined || ms <= 0 || tokens < 2 ? undefined : (1000 * (tokens - 1)) / ms
}

type Phase = keyof typeof texts.phases
export type Segment = { readonly phase: Phase; readonly ms: number }

/** The time of an ended request by its phases, in order. */
export function waterfallOf(request: WatchedRequest): readonly Segment[] {
  const { timings = {} } = request
  const total = timings.total_ms ?? (request.ended_at_ms === undefined ? undefined : durationOf(request, { value: 0 }))
  if (isRunning(request) || total === undefined) return []
  const known: readonly Segment[] = [
    { phase: 'load', ms: timings.load_ms ?? 0 },
    { phase: 'queue', ms: timings.queue_ms ?? 0 },
    { phase: 'prompt', ms: timings.prompt_ms ?? 0 },
    { phase: 'decode', ms: timings.decode_ms ?? 0 },
  ]
  const sum = known.reduce((all, { ms }) => all + ms, 0)
  return [...known, { phase: 'other' as const, ms: Math.max(0, total - sum) }].filter(({ ms }) => ms > 0)
}

/** How a prompt differs from the turn before, for people: `messages[3].content[0]` is in the fourth message. */
export function differenceText({ at, part, change, missed_tokens: missed }: NonNullable<WatchedRequest['diverged']>): string {
  const [, list, index] = /^(messages|tools)\[(\d+)\]/.exec(at) ?? []
  const place = index === undefined ? at : (list === 'tools' ? texts.tool : texts.message)(Number(index) + 1)
  const kind = change === undefined ? '' : (texts.changes[change] ?? change)
  return texts.diverged({ place, part: texts.parts[part] ?? part, kind, missed: formatCount(missed) })
}

/** The texts that a filter searches: ten thousand requests are searched for each event, and most have not changed. */
const searched = new WeakMap<WatchedRequest, { readonly fields: Readonly<Record<string, string>>; readonly all: string }>()

function searchedIn(request: WatchedRequest) {
  const known = searched.get(request)
  if (known !== undefined) return known
  const fields = {
    model: `${request.model ?? ''} ${request.requested_model ?? ''}`.toLowerCase(),
    caller: request.key.toLowerCase(),
    protocol: protocolOf(request.route).toLowerCase(),
    route: request.route.toLowerCase(),
    state: `${request.state} ${isRunning(request) ? 'running' : ''} ${stateText(request)}`.toLowerCase(),
    id: `${request.id} ${request.request_id} ${request.session_id ?? ''} ${request.batch_id ?? ''}`.toLowerCase(),
    server: (request.served_by ?? '').toLowerCase(),
    error: `${request.error?.code ?? ''} ${request.error?.message ?? ''}`.toLowerCase(),
  }
  const made = { fields, all: Object.values(fields).join(' ') }
  searched.set(request, made)
  return made
}

/** Whether a row contains every word of the filter. A word such as `state:failed` searches one field. */
export function matches(request: WatchedRequest, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const { fields, all }: { readonly fields: Readonly<Record<string, string>>; readonly all: string } = searchedIn(request)
  return words.every((word) => {
    const at = word.indexOf(':')
    const field = at < 0 ? undefined : fields[word.slice(0, at)]
    return field === undefined ? all.includes(word) : field.includes(word.slice(at + 1))
  })
}

export function wordsOf(filter: string | undefined): readonly string[] {
  return (filter ?? '')
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
}
