import { isObject } from '../base/json.ts'
import { type Answer, answerIn, type Change, changesOf } from './compare.ts'
import { type Drift, driftOf, logprobFields, type Position, positionsIn } from './drift.ts'
import { type Judgement, judge } from './judge.ts'
import type { Exchange } from './probe/exchange.ts'
import { short } from './probe/row.ts'
import { sendAsk } from './send.ts'
import { answerLimitMs, replayHeader, type Side, type Turn } from './turn.ts'

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
export async function diffTurn(
  turn: Turn,
  { before: first, after: second, judge: wise, tellsDrift = false }: Sides,
): Promise<TurnDiff> {
  const [before, after] = [await askOnce(turn, first, tellsDrift), await askOnce(turn, second, tellsDrift)]
  const changes = changesOf(before.answer, after.answer, turn.body)
  // After other thoughts, other tokens are expected.
  const isAlike = before.answer.thoughts === after.answer.thoughts
  const drift = isAlike ? driftOf(before.positions, after.positions) : undefined
  const diff = { before: before.answer, after: after.answer, changes, ...(drift !== undefined && { drift }) }
  if (wise === undefined || changes.length > 0 || isSameOrNone(diff)) return diff
  const judged = (await judge(turn, diff, wise)) ?? 'none'
  const worse = { kind: 'worse' as const, why: `${short(diff.before.text)} became ${short(diff.after.text)}` }
  return { ...diff, judged, changes: judged === 'worse' ? [worse] : [] }
}

const isSameOrNone = ({ before, after }: TurnDiff) =>
  before.failure !== undefined || after.failure !== undefined || before.text === after.text

/** The answer to a turn: not streamed and with temperature 0, so that chance is not a change. */
export async function answerTo(turn: Turn, side: Side): Promise<Answer> {
  return (await askOnce(turn, side, false)).answer
}

/** The answer, with the log-probabilities of its first tokens in the same reply where the server has them. */
async function askOnce(
  turn: Turn,
  side: Side,
  hasLogprobs: boolean,
): Promise<{ answer: Answer; positions: readonly Position[] }> {
  const { path, body } = turn
  const fields = hasLogprobs ? logprobFields(path, body) : undefined
  const asked = { ...repeatable(turn, side), ...fields }
  const headers = { [replayHeader]: 'true' }
  const reply = await sendAsk(side.address, { path, body: asked, headers }, { limitMs: answerLimitMs })
  // A server without log-probabilities may refuse the fields.
  if (fields !== undefined && isRefusal(reply)) return askOnce(turn, side, false)
  return { answer: answerIn(reply), positions: fields === undefined ? [] : positionsIn(path, reply.json) }
}

const isRefusal = ({ status }: Exchange) => status === 400 || status === 422 || status === 501

function repeatable({ path, body }: Turn, { model }: Side): object {
  const { stream_options: _, ...rest } = body
  const fields = path.startsWith('/api/')
    ? { options: { ...(isObject(body.options) && body.options), temperature: 0, seed: 1 } }
    : { temperature: 0, ...(path.includes('chat') && { seed: 1 }) }
  return { ...rest, stream: false, ...fields, ...(model !== undefined && { model }) }
}
