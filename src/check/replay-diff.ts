import { isObject } from '../base/json.ts'
import { type Answer, answerIn, type Change, changesOf } from './compare.ts'
import { type Drift, driftOf } from './drift.ts'
import { type Judgement, judge } from './judge.ts'
import { short } from './probe/row.ts'
import { sendAsk } from './send.ts'
import { answerLimitMs, type Side, type Turn } from './turn.ts'

export type TurnDiff = {
  readonly before: Answer
  readonly after: Answer
  readonly changes: readonly Change[]
  /** The judge's verdict on other words; `none`: it gave none. Absent: it was not asked. */
  readonly judged?: Judgement | 'none'
  /** Absent: not compared, or a server has no log-probabilities. */
  readonly drift?: Drift
}

/** `judge`: is asked about answers that differ in words only. `tellsDrift`: the next tokens are compared, too. */
export type Sides = {
  readonly before: Side
  readonly after: Side
  readonly judge?: Side | undefined
  readonly tellsDrift?: boolean
}

/** Conversations, whose replies can be compared. */
const comparable = /^\/(v1\/(chat\/completions|messages|responses)|api\/chat)(\?|$)/

export const isComparable = (path: string, body: unknown): body is Record<string, unknown> =>
  comparable.test(path) && isObject(body)

/** Sends one turn to both sides and compares the answers. */
export async function diffTurn(turn: Turn, sides: Sides): Promise<TurnDiff> {
  const [before, after] = [await answerTo(turn, sides.before), await answerTo(turn, sides.after)]
  const changes = changesOf(before, after, turn.body)
  const isAnswered = before.failure === undefined && after.failure === undefined
  const drift = sides.tellsDrift === true && isAnswered ? await driftOf(turn, sides.before, sides.after) : undefined
  const diff = { before, after, changes, ...(drift !== undefined && { drift }) }
  if (sides.judge === undefined || changes.length > 0 || !isAnswered || before.text === after.text) return diff
  const judged = (await judge(turn, { before, after }, sides.judge)) ?? 'none'
  const worse = { kind: 'worse' as const, why: `${short(before.text)} became ${short(after.text)}` }
  return { ...diff, judged, changes: judged === 'worse' ? [worse] : [] }
}

/** The answer to a turn: not streamed and with temperature 0, so that chance is not a change. */
export async function answerTo({ path, body }: Turn, { address, model }: Side): Promise<Answer> {
  const { stream_options: _, ...rest } = body
  const repeatable = path.startsWith('/api/')
    ? { options: { ...(isObject(body.options) && body.options), temperature: 0, seed: 1 } }
    : { temperature: 0, ...(path.includes('chat') && { seed: 1 }) }
  const asked = { ...rest, stream: false, ...repeatable, ...(model !== undefined && { model }) }
  return answerIn(await sendAsk(address, { path, body: asked }, { limitMs: answerLimitMs }))
}
