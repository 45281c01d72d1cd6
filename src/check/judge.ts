import { parseJson } from '../base/json.ts'
import { AppError } from '../contract/errors.ts'
import { type Answer, answerIn } from './compare.ts'
import { at } from './probe/read.ts'
import { sendAsk } from './send.ts'
import { answerLimitMs, replayHeader, type Side, type Turn } from './turn.ts'

/** How the second of two answers is for its user, compared with the first. */
export type Judgement = 'alike' | 'better' | 'worse'

/** The end of a conversation that a judge reads, in characters. */
const mostContext = 16_000

const instruction =
  'You compare two answers to the same conversation. Judge what a user gets: whether it is right, complete, and does what was asked. ' +
  'Style and length alone do not count. Reply with JSON only: {"better": "A"}, {"better": "B"}, or {"better": "neither"} if both are ' +
  'equally good.'

const format = {
  type: 'json_schema',
  json_schema: {
    name: 'verdict',
    strict: true,
    schema: {
      type: 'object',
      properties: { better: { type: 'string', enum: ['A', 'B', 'neither'] } },
      required: ['better'],
      additionalProperties: false,
    },
  },
} as const

/**
 * Asks a model twice, with the answers in both orders, since models prefer a place: an answer is better only if it is so in both. Undefined:
 * the judge gave no verdict. Rejects if it does not answer.
 */
export async function judge(
  turn: Turn,
  { before, after }: { readonly before: Answer; readonly after: Answer },
  side: Side,
): Promise<Judgement | undefined> {
  const first = await ask(turn, [before, after], side)
  const second = await ask(turn, [after, before], side)
  if (first === undefined || second === undefined) return undefined
  if (first === 'A' && second === 'B') return 'worse'
  return first === 'B' && second === 'A' ? 'better' : 'alike'
}

export type Answered = { readonly turn: Turn; readonly answer: Answer }

/**
 * Whether a judge can tell: each answer is compared with that to another question, which is worse. Answers that are the same say nothing.
 */
export async function tryJudge(
  answered: readonly Answered[],
  side: Side,
): Promise<{ readonly found: number; readonly of: number }> {
  let [found, of] = [0, 0]
  for (const [index, { turn, answer: before }] of answered.entries()) {
    const after = answered[(index + Math.ceil(answered.length / 2)) % answered.length]?.answer
    if (after === undefined || textOf(before) === textOf(after)) continue
    of += 1
    if ((await judge(turn, { before, after }, side)) === 'worse') found += 1
  }
  return { found, of }
}

async function ask({ body }: Turn, [a, b]: readonly [Answer, Answer], { address, model }: Side): Promise<string | undefined> {
  const conversation = JSON.stringify([at(body, 'system') ?? at(body, 'instructions'), body.messages ?? body.input]).slice(
    -mostContext,
  )
  const content = `Conversation:\n${conversation}\n\nAnswer A:\n${textOf(a)}\n\nAnswer B:\n${textOf(b)}`
  const messages = [
    { role: 'system', content: instruction },
    { role: 'user', content },
  ]
  const asked = { ...(model !== undefined && { model }), messages, temperature: 0, response_format: format }
  const { text, failure } = answerIn(
    await sendAsk(
      address,
      { path: '/v1/chat/completions', body: asked, headers: { [replayHeader]: 'true' } },
      { limitMs: answerLimitMs },
    ),
  )
  if (failure !== undefined) throw new AppError('engine-failed', `the judge at ${address.url} does not answer: ${failure}`)
  // A server that does not enforce the form may put words around it.
  const better = at(parseJson(/\{[^{}]*\}(?=[^{}]*$)/.exec(text)?.[0] ?? ''), 'better')
  return better === 'A' || better === 'B' || better === 'neither' ? better : undefined
}

function textOf({ text, calls }: Answer): string {
  return [text, ...calls.map(({ name, input }) => `${name}(${JSON.stringify(input)})`)].filter((part) => part !== '').join('\n')
}
