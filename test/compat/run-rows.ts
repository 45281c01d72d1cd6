import { readFileSync } from 'node:fs'
import { fine } from './answers.ts'
import type { Reply } from './checks.ts'
import type { Request, Row, Step, System } from './row.ts'
import type { Servers } from './servers.ts'

/** What is wrong with a row. */
export type Fault = {
  readonly id: string
  readonly step: string
  readonly problem: string
  /** What it says is refused or missing is served now: its verdict is too low. */
  readonly isTooLow: boolean
}

const idOf = ({ prefix }: System, { number }: Row) => `${prefix}${number}`

/** Sends what the rows of a system send, one after the other: some read what earlier ones have changed. */
export async function runRows(servers: Servers, system: System): Promise<readonly Fault[]> {
  const replies = new Map<Request, Reply>()
  const faults: Fault[] = []
  for (const row of system.groups.flatMap(({ rows }) => rows)) {
    for (const step of row.steps) {
      const problem = await problemOf(step, { servers, replies })
      if (problem === undefined) continue
      const { name, served } =
        step.type === 'test'
          ? { name: step.file, served: false }
          : { name: step.request.call, served: (replies.get(step.request)?.status ?? 500) < 300 }
      const isLow = row.verdict === 'refused' || row.verdict === 'missing'
      faults.push({ id: idOf(system, row), step: name, problem, isTooLow: served && isLow })
      break
    }
  }
  return faults
}

type Known = { readonly servers: Servers; readonly replies: Map<Request, Reply> }

async function problemOf(step: Step, { servers, replies }: Known): Promise<string | undefined> {
  if (step.type === 'test') return testProblem(step)
  let reply = replies.get(step.request)
  if (reply === undefined) {
    reply = await send(step.request, servers)
    replies.set(step.request, reply)
  }
  const problems = step.checks.map((check) => check(reply)).filter((problem) => problem !== undefined)
  if (problems.length > 0) return problems.join('; ')
  // A check of a value says nothing of the status.
  return step.checks.length === 0 && reply.status >= 300 ? `status ${reply.status}: ${reply.text.slice(0, 400)}` : undefined
}

function testProblem({ file, name }: Extract<Step, { type: 'test' }>): string | undefined {
  try {
    return readFileSync(file, 'utf8').includes(name) ? undefined : `has no test '${name}'`
  } catch {
    return 'is not there'
  }
}

async function send(
  { call, body, headers, key = 'admin', at = 'main', upstream = fine }: Request,
  servers: Servers,
): Promise<Reply> {
  const [method = '', path = ''] = call.split(' ')
  servers.upstream.answer = upstream
  servers.upstream.seen.length = 0
  const response = await fetch(`${servers.urls[at]}${path}`, {
    method,
    headers: {
      ...(key !== 'none' && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body).replaceAll('FOLDER', servers.folder) }),
    signal: AbortSignal.timeout(60_000),
  })
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isStream ? undefined : parsed(text),
    events: isStream ? eventsOf(text) : [],
    seen: [...servers.upstream.seen],
  }
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
