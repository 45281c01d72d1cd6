import type { Ask, Exchange, Meanwhile, Server } from './exchange.ts'
import { differenceOf, usageIn } from './read.ts'

/** Kinds of checks: one protocol, or one promise of all of them. */
export const areas = [
  'models',
  'chat',
  'limits',
  'streams',
  'tools',
  'schemas',
  'sampling',
  'usage',
  'errors',
  'cancel',
  'completions',
  'responses',
  'messages',
  'ollama',
  'embeddings',
  'rerank',
  'clients',
] as const
export type Area = (typeof areas)[number]

/** `severe`: replies are lost, wrong or paid for in vain. `moderate`: some clients fail. `slight`: a careful client copes. */
export type Weight = 'severe' | 'moderate' | 'slight'

/** `absent`: the server does not offer it, and says that. `unproven`: the reply could be right or wrong. */
export type Verdict =
  | { readonly outcome: 'holds' }
  | { readonly outcome: 'finding' | 'absent' | 'unproven'; readonly why: string }

export const holds: Verdict = { outcome: 'holds' }
export const finding = (why: string): Verdict => ({ outcome: 'finding', why })
export const absent = (why: string): Verdict => ({ outcome: 'absent', why })
export const unproven = (why: string): Verdict => ({ outcome: 'unproven', why })

/** A check that sends one request after the other and reads each reply. It is pure: the runner sends. */
export type Steps = Generator<Ask | Meanwhile, Verdict, Exchange>

export type Row = {
  readonly id: string
  readonly area: Area
  /** The promise of the protocol, as a sentence. */
  readonly protocol: string
  readonly weight: Weight
  /** Who notices that it does not hold. */
  readonly feltBy: string
  readonly steps: (server: Server) => Steps
}

type Facts = Omit<Row, 'id' | 'area' | 'steps'>

/** The rows of one area. */
export function rowsOf(area: Area, table: Readonly<Record<string, readonly [Facts, Row['steps']]>>): readonly Row[] {
  return Object.entries(table).map(([id, [facts, steps]]) => ({ id: `${area}-${id}`, area, ...facts, steps }))
}

export const severe = (protocol: string, feltBy: string): Facts => ({ weight: 'severe', protocol, feltBy })
export const moderate = (protocol: string, feltBy: string): Facts => ({ weight: 'moderate', protocol, feltBy })
export const slight = (protocol: string, feltBy: string): Facts => ({ weight: 'slight', protocol, feltBy })

/** Sends one request, which must be answered, or several in order; then judges the replies. */
export function answered(
  asks: (server: Server) => Ask | readonly Ask[],
  options: { readonly isOptional?: boolean } = {},
): (judge: (exchanges: readonly [Exchange, ...Exchange[]], server: Server) => Verdict | string | undefined) => Row['steps'] {
  return (judge) =>
    function* (server) {
      const wanted = asks(server)
      const exchanges: Exchange[] = []
      for (const ask of Array.isArray(wanted) ? (wanted as readonly Ask[]) : [wanted as Ask]) {
        const exchange = yield ask
        const problem = unanswered(exchange, options)
        if (problem !== undefined) return problem
        exchanges.push(exchange)
      }
      const verdict = judge(exchanges as [Exchange, ...Exchange[]], server)
      return typeof verdict === 'string' ? finding(verdict) : (verdict ?? holds)
    }
}

/** That the model reads a part of a conversation: with it, the prompt has at least `least` tokens more. */
export function readsMore(
  base: (server: Server, more: object) => Ask,
  [without, withIt]: readonly [object, object],
  least: number,
): Row['steps'] {
  return answered((server) => [base(server, without), base(server, withIt)])(([small, large]) => {
    const [few, many] = [usageIn(small).input, large && usageIn(large).input]
    if (few === undefined || many === undefined) return unproven('the reply has no count of the prompt')
    return many - few >= least
      ? undefined
      : `the prompt has ${few} tokens without it and ${many} with it: the model does not read it`
  })
}

/** The verdict on a reply without an answer. A refusal by name is honest where the protocol lets a server lack the feature. */
export function unanswered(exchange: Exchange, { isOptional = false } = {}): Verdict | undefined {
  const { status, failure } = exchange
  if (failure !== undefined) return finding(failure)
  if (status >= 200 && status < 300) return undefined
  const said = `${status}: ${messageIn(exchange) ?? short(exchange.text)}`
  if (status === 429 || status === 503) return unproven(`the server answers ${said}`)
  const isRefusal = status === 501 || (status >= 400 && status < 500)
  return isRefusal && isOptional ? absent(`refused with ${said}`) : finding(`the server answers ${said}`)
}

/** The verdict of a check that compares texts, where there is none. */
export const noText = unproven('the model writes no text')

/** That a stream has the text of a whole reply to the same request. */
export function sameText(whole: string, streamed: string): Verdict {
  if (whole === '') return noText
  const difference = differenceOf(whole, streamed)
  if (difference === 'none') return holds
  if (difference === 'other') return unproven('the model writes something else each time')
  return finding(`whole: ${JSON.stringify(short(whole))}, streamed: ${JSON.stringify(short(streamed))}`)
}

/** The message of an error in any protocol's form. */
export function messageIn({ json }: Pick<Exchange, 'json'>): string | undefined {
  const { error, message, detail } = (json ?? {}) as Record<string, unknown>
  const inner = (error as { message?: unknown } | undefined)?.message
  return [inner, error, message, detail].find((one): one is string => typeof one === 'string')
}

export function short(text: string, length = 160): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= length ? line : `${line.slice(0, length)}…`
}
