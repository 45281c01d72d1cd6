import { listAt, numberAt, textAt } from './probe/read.ts'

/** How far the next tokens of two models are apart: the divergence in nats, summed over tokens that follow the same text. */
export type Drift = { readonly nats: number; readonly tokens: number }

/** From here on, weights count as coarse. A small model may get there with four bits, a larger one with fewer. */
export const coarseNats = 0.05

/** A token of an answer, and the log-probabilities of those that were likely in its place. */
export type Position = { readonly token: string; readonly top: ReadonlyMap<string, number> }

const mostTokens = 16
const mostLikely = 5

type Protocol = { readonly starts: string; ask(body: object): object; find(json: unknown): readonly unknown[] }

/** How each protocol is asked for log-probabilities, and where they are in its reply. Messages has none. */
const protocols: readonly Protocol[] = [
  {
    starts: '/v1/chat/completions',
    ask: () => ({ logprobs: true, top_logprobs: mostLikely }),
    find: (json) => listAt(json, 'choices.0.logprobs.content'),
  },
  {
    starts: '/v1/responses',
    ask: (body) => ({ include: [...listAt(body, 'include'), 'message.output_text.logprobs'], top_logprobs: mostLikely }),
    find: (json) =>
      listAt(json, 'output')
        .flatMap((item) => listAt(item, 'content'))
        .flatMap((part) => listAt(part, 'logprobs')),
  },
  {
    starts: '/api/chat',
    ask: () => ({ logprobs: true, top_logprobs: mostLikely }),
    find: (json) => listAt(json, 'logprobs'),
  },
]

const protocolOf = (path: string) => protocols.find(({ starts }) => path.startsWith(starts))

/** The fields that ask for log-probabilities; undefined for protocols without them. */
export const logprobFields = (path: string, body: object) => protocolOf(path)?.ask(body)

/** The first tokens of an answer; none, if its log-probabilities are not there. */
export function positionsIn(path: string, json: unknown): readonly Position[] {
  const found = protocolOf(path)?.find(json) ?? []
  const positions = found.slice(0, mostTokens).map((entry) => ({
    token: textAt(entry, 'token') ?? '',
    top: new Map(listAt(entry, 'top_logprobs').map((top) => [textAt(top, 'token') ?? '', numberAt(top, 'logprob') ?? 0])),
  }))
  return positions.filter(({ top }) => top.size > 0)
}

/**
 * Compares what two models expect after the same text: the first tokens of both answers, up to the first that differs. The drift is 0 for
 * the same weights, and more for coarser ones, also where they say the same. Undefined where one has no log-probabilities.
 */
export function driftOf(before: readonly Position[], after: readonly Position[]): Drift | undefined {
  let [nats, tokens] = [0, 0]
  for (const [index, position] of before.entries()) {
    const other = after[index]
    if (other === undefined) break
    nats += divergence(position, other)
    tokens += 1
    if (position.token !== other.token) break
  }
  return tokens === 0 ? undefined : { nats, tokens }
}

/** Over the likely tokens of the first. One that the second does not list is less likely there than all that it lists. */
function divergence({ top }: Position, other: Position): number {
  const least = Math.min(...other.top.values())
  const parts = [...top].map(([token, logprob]) => Math.exp(logprob) * (logprob - (other.top.get(token) ?? least)))
  return Math.max(
    0,
    parts.reduce((sum, part) => sum + part, 0),
  )
}
