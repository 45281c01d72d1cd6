import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fine } from './answers.ts'
import { type Reply, textOf, valueAt } from './checks.ts'
import type { Request, RequestStep, Row, Step, System } from './row.ts'
import type { Servers } from './servers.ts'
import type { TestProblem } from './shown-by.ts'

/** Why a step does not show its row; `isRun` is false for what this machine cannot show. */
export type Problem = { readonly problem: string; readonly isRun: boolean }
/** Rows, and what shows them. */
export type Trial = {
  readonly servers: Servers
  readonly testProblem: TestProblem
  /** The ids of the rows; all unless given. */
  readonly only?: (id: string) => boolean
  readonly replyLimitMs?: number
}

/** What is wrong with a row. */
export type Fault = Problem & {
  readonly id: string
  readonly step: string
  /** What it says is refused or missing is served now: its verdict is too low. */
  readonly isTooLow: boolean
}

export const idOf = ({ prefix }: Pick<System, 'prefix'>, { number }: Row) => `${prefix}${number}`

/** Sends what the rows of a system send, one after the other. */
export async function runRows(trial: Trial, system: System): Promise<readonly Fault[]> {
  const { servers, replyLimitMs = 60_000 } = trial
  const replies: Sending['replies'] = new Map()
  const faults: Fault[] = []
  for (const row of system.groups.flatMap(({ rows }) => rows)) {
    const id = idOf(system, row)
    if (trial.only?.(id) === false) continue
    const fault = await faultOf(row, trial, { servers, replies, replyLimitMs })
    if (fault !== undefined) faults.push({ id, ...fault })
  }
  return faults
}

type Sending = {
  readonly servers: Servers
  readonly replies: Map<Request, Promise<Reply>>
  readonly replyLimitMs: number
  /** The reply of the step before, in the same row. */
  last?: Reply
}

async function faultOf(row: Row, trial: Trial, sending: Sending): Promise<Omit<Fault, 'id'> | undefined> {
  let fault: Omit<Fault, 'id'> | undefined
  for (const step of row.steps) {
    if (fault !== undefined && !(step.type === 'request' && step.part === 'cleans-up')) continue
    const found = await problemOf(step, trial, sending)
    if (found === undefined || fault !== undefined) continue
    const reply = step.type === 'request' ? await sending.replies.get(step.request)?.catch(() => undefined) : undefined
    const isLow = row.verdict === 'refused' || row.verdict === 'missing'
    fault = { ...found, step: nameOf(step), isTooLow: isLow && (reply?.status ?? 500) < 300 }
  }
  return fault
}

function nameOf(step: Step): string {
  if (step.type === 'test') return step.file
  if (step.type === 'file') return step.pattern
  return step.type === 'not-run' ? 'this machine' : step.request.call
}

async function problemOf(step: Step, { testProblem }: Trial, sending: Sending): Promise<Problem | undefined> {
  if (step.type === 'test') return testProblem(step)
  if (step.type === 'not-run') return { problem: step.why, isRun: false }
  const problem =
    step.type === 'request'
      ? requestProblem(step, sending)
      : step.type === 'file'
        ? untilNone(async () => fileProblem(step, sending.servers.folder))
        : comparisonProblem(step, sending)
  // No reply in time, or none at all.
  return asProblem(await problem.catch((error: Error) => `${error.message} ${error.cause ?? ''}`))
}

const asProblem = (problem: string | undefined): Problem | undefined =>
  problem === undefined ? undefined : { problem, isRun: true }

async function requestProblem(step: RequestStep, sending: Sending): Promise<string | undefined> {
  const { request, part } = step
  if (part === 'starts') {
    const begun = send(request, sending)
    // The step that reads it reports its error.
    begun.catch(() => undefined)
    sending.replies.set(request, begun)
    return undefined
  }
  const once = async () => {
    const reply = await replyTo(request, sending)
    sending.last = reply
    return replyProblem(step, reply)
  }
  if (part !== 'soon') return once()
  return untilNone(() => {
    sending.replies.delete(request)
    return once()
  })
}

/** Tries again for ten seconds. */
async function untilNone(find: () => Promise<string | undefined>): Promise<string | undefined> {
  const lastMs = performance.now() + 10_000
  for (;;) {
    const problem = await find()
    if (problem === undefined || performance.now() > lastMs) return problem
    await pause(25)
  }
}

function replyTo(request: Request, sending: Sending): Promise<Reply> {
  const reply = sending.replies.get(request) ?? send(request, sending)
  sending.replies.set(request, reply)
  return reply
}

function replyProblem({ checks }: RequestStep, reply: Reply): string | undefined {
  const problems = checks.map((check) => check(reply)).filter((problem) => problem !== undefined)
  if (problems.length > 0) return problems.join('; ')
  // A check of a value says nothing of the status.
  return checks.length === 0 && reply.status >= 300 ? `status ${reply.status}: ${reply.text.slice(0, 400)}` : undefined
}

async function comparisonProblem(
  { request, fields, areEqual }: Extract<Step, { type: 'comparison' }>,
  sending: Sending,
): Promise<string | undefined> {
  const base = await send(request, sending)
  const changed = await send({ ...request, body: { ...(request.body as object), ...fields } }, sending)
  const again = areEqual ? base : await send(request, sending)
  const failed = [base, changed].find(({ status }) => status >= 300)
  if (failed !== undefined) return `status ${failed.status}: ${failed.text.slice(0, 400)}`
  const [before, after] = [textOf(base), textOf(changed)]
  if (before === undefined || after === undefined) return `no text: ${(before === undefined ? base : changed).text.slice(0, 400)}`
  if (before !== textOf(again)) return `without ${Object.keys(fields)}, it is not the same each time: ${before}; ${textOf(again)}`
  const named = `with ${JSON.stringify(fields)}`
  if (areEqual) return before === after ? undefined : `${named} ${JSON.stringify(after)}, not ${JSON.stringify(before)}`
  return before === after ? `${named} the same text: ${JSON.stringify(after)}` : undefined
}

function fileProblem({ pattern, wanted, isThere }: Extract<Step, { type: 'file' }>, folder: string): string | undefined {
  const found = globSync(pattern, { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile())
  const has = found.some(({ parentPath, name }) => wanted.test(readFileSync(join(parentPath, name), 'utf8')))
  return has === isThere ? undefined : `${has ? 'one' : 'none'} of ${found.length} files has ${wanted}`
}

async function send(
  { call, body, form, headers, key = 'admin', at = 'main', upstream = fine }: Request,
  { servers, last, replyLimitMs }: Sending,
): Promise<Reply> {
  const [method = '', path = ''] = filled(call, last).split(' ')
  servers.upstream.answer = upstream
  servers.upstream.seen.length = 0
  servers.searches.length = 0
  const response = await fetch(`${servers.urls[at]}${path}`, {
    method,
    headers: {
      ...(key !== 'none' && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && {
      body: filled(JSON.stringify(body), last).replaceAll('FOLDER', servers.folder).replaceAll('SITE/', `${servers.site}/`),
    }),
    ...(form !== undefined && { body: formOf(form) }),
    signal: AbortSignal.timeout(replyLimitMs),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  const text = bytes.toString()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    bytes,
    json: isStream ? undefined : parsed(text),
    events: isStream ? eventsOf(text) : [],
    seen: [...servers.upstream.seen],
    searches: [...servers.searches],
  }
}

/** A text with values of the last reply, such as an id. */
function filled(given: string, last: Reply | undefined): string {
  return given.replace(/LAST:([\w.]+)/g, (_, path: string) => String(valueAt(last?.json, path)))
}

function formOf(fields: NonNullable<Request['form']>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

function eventsOf(text: string): readonly unknown[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
  return lines.map((line) => JSON.parse(line.slice(6)))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Pages and metrics are not JSON.
    return undefined
  }
}
