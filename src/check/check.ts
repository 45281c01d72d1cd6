import { rootOf } from '../base/text/server-url.ts'
import { AppError } from '../contract/errors.ts'
import type { Ask, Exchange, Server } from './probe/exchange.ts'
import { areas, type Row, short } from './probe/row.ts'
import { rows } from './rows.ts'
import { type Judged, runRows, Sender } from './run.ts'
import { survey } from './survey.ts'

export type CheckOptions = {
  /** The root of the server; a `/v1` at its end is taken off. */
  readonly url: string
  readonly apiKey?: string | undefined
  /** Default: the first model that the server lists. */
  readonly model?: string | undefined
  /** The model for vectors and rankings. */
  readonly vectorModel?: string | undefined
  /** Areas, or ids of checks. Default: all. */
  readonly only?: readonly string[]
  /** Hears of each check when it is done. */
  readonly onResult?: (result: CheckResult) => void
}

/** `absent`: the server says that it does not offer it. `unproven`: the reply may be right. `not-run`: the bounds of the run were reached. */
export type CheckResult = Omit<Row, 'steps'> & {
  readonly outcome: 'holds' | 'finding' | 'absent' | 'unproven' | 'not-run'
  /** Why, where it does not hold. */
  readonly why?: string
  /** The requests of a finding, and the start of each reply. */
  readonly exchanges?: readonly { readonly sent: string; readonly came: string }[]
}

export type CheckReport = {
  readonly url: string
  readonly model: string
  readonly contextLength: number | null
  readonly at: string
  readonly requests: number
  readonly ms: number
  /** As the server has counted them. */
  readonly tokens: { readonly input: number; readonly output: number }
  readonly results: readonly CheckResult[]
}

export const bounds = { mostRequests: 400, mostMs: 175_000 } as const

/**
 * Checks what a server promises: formats, and what is hard. Sends at most 400 requests in three minutes, which cost what the server takes
 * for them. Throws if the server does not answer, or has no model.
 */
export async function check({ url, apiKey, only = [], onResult, ...models }: CheckOptions): Promise<CheckReport> {
  const root = rootOf(url)
  const asked = rows.filter(({ id, area }) => only.length === 0 || only.includes(area) || only.includes(id))
  refuseUnknown(only)
  const sender = new Sender({ url: root, apiKey }, bounds)
  const server = await survey(sender, { url: root, hasKey: apiKey !== undefined, ...models })
  const results: CheckResult[] = []
  for await (const judged of runRows(asked, server, sender)) {
    const result = resultOf(judged)
    results.push(result)
    onResult?.(result)
  }
  return reportOf(root, server, { results, ...sender.spent })
}

function reportOf(
  url: string,
  { model, contextLength }: Server,
  rest: Pick<CheckReport, 'results' | 'requests' | 'ms' | 'tokens'>,
): CheckReport {
  return { url, model, contextLength: contextLength ?? null, at: new Date().toISOString(), ...rest }
}

function refuseUnknown(only: readonly string[]): void {
  const unknown = only.find((name) => !(areas as readonly string[]).includes(name) && !rows.some(({ id }: Row) => id === name))
  if (unknown !== undefined)
    throw new AppError(
      'invalid-request',
      `there is no check '${unknown}': name an area (${areas.join(', ')}) or the id of a check`,
    )
}

function resultOf({ row: { steps: _, ...facts }, verdict, exchanges }: Judged): CheckResult {
  const { outcome } = verdict
  if (outcome === 'holds') return { ...facts, outcome }
  const shown = exchanges.map((exchange) => ({ sent: sentIn(exchange.ask), came: cameIn(exchange) }))
  return { ...facts, outcome, why: verdict.why, ...(outcome === 'finding' && { exchanges: shown }) }
}

const shownLength = 600

function sentIn({ method, path, body, text, socket }: Ask): string {
  const content =
    text ?? (body === undefined ? (socket ?? []).map((one) => JSON.stringify(one)).join('\n') : JSON.stringify(body))
  return `${method ?? (content === '' ? 'GET' : 'POST')} ${path} ${short(content, shownLength)}`.trim()
}

function cameIn({ status, text, failure, events }: Exchange): string {
  const content = text === '' ? events.map(({ data }) => data).join(' ') : text
  const end = content.length > 2 * shownLength ? ` … ${short(content.slice(-shownLength / 2), shownLength)}` : ''
  return [failure === undefined ? String(status) : failure, short(content, shownLength) + end].join(' ')
}
