import { isDeepStrictEqual } from 'node:util'
import type { CaseReply } from './ask.ts'
import type { CaseCheck } from './case.ts'
import { valueAt } from './case-upstream.ts'

/** What of a check does not hold, in words; undefined when it holds. `upstreamBody` is what the upstream got last. */
export function whatFails(check: CaseCheck, reply: CaseReply, upstreamBody: unknown): string | undefined {
  const value = found(check, reply, upstreamBody)
  if (holds(check, value)) return undefined
  const { path, header, upstream, text, status, ...wanted } = check
  const place = status ? 'the status' : (header ?? upstream ?? path ?? 'the body')
  const shown = (JSON.stringify(value) ?? 'absent').slice(0, 300)
  return `${place} is ${shown}, wanted ${JSON.stringify(wanted)}; HTTP ${reply.status} ${reply.text.slice(0, 300)}`
}

function found(check: CaseCheck, reply: CaseReply, upstreamBody: unknown): unknown {
  if (check.status) return reply.status
  if (check.header !== undefined) return reply.headers.get(check.header) ?? undefined
  if (check.upstream !== undefined) return valueAt(upstreamBody, check.upstream)
  return check.text ? reply.text : valueAt(reply.json, check.path ?? '')
}

function holds(check: CaseCheck, value: unknown): boolean {
  const isEmpty = value === undefined || value === null || value === ''
  if ('equals' in check) return isDeepStrictEqual(value, check.equals)
  if (check.oneOf !== undefined) return check.oneOf.some((each) => isDeepStrictEqual(value, each))
  if (check.includes !== undefined) return String(value ?? '').includes(check.includes)
  if (check.excludes !== undefined) return !String(value ?? '').includes(check.excludes)
  if (check.absent) return isEmpty
  if (check.present) return !isEmpty
  const json = typeof value === 'string' ? parsed(value) : undefined
  if ('json' in check) return isDeepStrictEqual(json, check.json)
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
