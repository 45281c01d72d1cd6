import { isObject } from '../base/json.ts'
import { type Answer, answerIn, type Change, changesOf } from './compare.ts'
import { type Address, sendAsk } from './send.ts'

/** A captured request of a conversation. */
export type Turn = { readonly path: string; readonly body: Readonly<Record<string, unknown>> }

/** Where a turn is sent; without a model, to the one that it names. */
export type Side = { readonly address: Address; readonly model?: string }

export type TurnDiff = { readonly before: Answer; readonly after: Answer; readonly changes: readonly Change[] }

/** Conversations, whose replies can be compared. */
const comparable = /^\/(v1\/(chat\/completions|messages|responses)|api\/chat)(\?|$)/

export const isComparable = (path: string, body: unknown): body is Record<string, unknown> =>
  comparable.test(path) && isObject(body)

const limitMs = 300_000

/** Sends one turn to both sides and compares the answers. */
export async function diffTurn(turn: Turn, before: Side, after: Side): Promise<TurnDiff> {
  const [first, second] = [await answerTo(turn, before), await answerTo(turn, after)]
  return { before: first, after: second, changes: changesOf(first, second, turn.body) }
}

/** The answer to a turn: not streamed and with temperature 0, so that chance is not a change. */
export async function answerTo({ path, body }: Turn, { address, model }: Side): Promise<Answer> {
  const { stream_options: _, ...rest } = body
  const repeatable = path.startsWith('/api/')
    ? { options: { ...(isObject(body.options) && body.options), temperature: 0, seed: 1 } }
    : { temperature: 0, ...(path.includes('chat') && { seed: 1 }) }
  const asked = { ...rest, stream: false, ...repeatable, ...(model !== undefined && { model }) }
  return answerIn(await sendAsk(address, { path, body: asked }, { limitMs }))
}
