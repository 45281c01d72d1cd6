import { isObject } from '../base/json.ts'
import { type Answer, answerIn, type Change, changesOf } from './compare.ts'
import { type Judgement, judge } from './judge.ts'
import { short } from './probe/row.ts'
import { sendAsk } from './send.ts'
import type { Side, Turn } from './turn.ts'

export type TurnDiff = {
  readonly before: Answer
  readonly after: Answer
  readonly changes: readonly Change[]
  /** The judge's verdict on other words; `none`: it gave none. Absent: it was not asked. */
  readonly judged?: Judgement | 'none'
}

/** `judge`: is asked about answers that differ in words only. */
export type Sides = { readonly before: Side; readonly after: Side; readonly judge?: Side | undefined }

/** Conversations, whose replies can be compared. */
const comparable = /^\/(v1\/(chat\/completions|messages|responses)|api\/chat)(\?|$)/

export const isComparable = (path: string, body: unknown): body is Record<string, unknown> =>
  comparable.test(path) && isObject(body)

const limitMs = 300_000

/** Sends one turn to both sides and compares the answers. */
export async function diffTurn(turn: Turn, sides: Sides): Promise<TurnDiff> {
  const [before, after] = [await answerTo(turn, sides.before), await answerTo(turn, sides.after)]
  const changes = changesOf(before, after, turn.body)
  const isSame = before.failure !== undefined || before.text === after.text
  if (sides.judge === undefined || changes.length > 0 || isSame) return { before, after, changes }
  const judged = (await judge(turn, { before, after }, sides.judge)) ?? 'none'
  const worse = { kind: 'worse' as const, why: `${short(before.text)} became ${short(after.text)}` }
  return { before, after, judged, changes: judged === 'worse' ? [worse] : [] }
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
