import { listAt, numberAt, textAt } from './probe/read.ts'
import { sendAsk } from './send.ts'
import { answerLimitMs, type Side, type Turn } from './turn.ts'

/** How far the next tokens of two models are apart: the divergence in nats, summed over tokens that follow the same text. */
export type Drift = { readonly nats: number; readonly tokens: number }

/** From here on, weights count as coarse. A small model may get there with four bits, a larger one with fewer. */
export const coarseNats = 0.05

type Position = { readonly token: string; readonly top: ReadonlyMap<string, number> }

const maxTokens = 16

/**
 * Compares what two models expect after the same text: the first tokens of both answers, up to the first that differs. The drift is 0 for
 * the same weights, and more for coarser ones, also where they say the same. Undefined where a server has no log-probabilities.
 */
export async function driftOf(turn: Turn, before: Side, after: Side): Promise<Drift | undefined> {
  const first = await positionsOf(turn, before)
  const second = first.length === 0 ? [] : await positionsOf(turn, after)
  let [nats, tokens] = [0, 0]
  for (const [index, position] of first.entries()) {
    const other = second[index]
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

async function positionsOf({ path, body }: Turn, { address, model }: Side): Promise<readonly Position[]> {
  if (!path.startsWith('/v1/chat/completions')) return []
  const { stream_options: _, max_completion_tokens: __, ...rest } = body
  const repeatable = { stream: false, temperature: 0, seed: 1, n: 1, max_tokens: maxTokens, logprobs: true, top_logprobs: 5 }
  const asked = { ...rest, ...repeatable, ...(model !== undefined && { model }) }
  const { json } = await sendAsk(address, { path, body: asked }, { limitMs: answerLimitMs })
  const positions = listAt(json, 'choices.0.logprobs.content').map((entry) => ({
    token: textAt(entry, 'token') ?? '',
    top: new Map(listAt(entry, 'top_logprobs').map((top) => [textAt(top, 'token') ?? '', numberAt(top, 'logprob') ?? 0])),
  }))
  return positions.filter(({ top }) => top.size > 0)
}
