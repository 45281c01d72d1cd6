import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { UpstreamFailure } from '../../transport/upstream-error.ts'
import { type FailureName, type FailureRow, failureTable, type KeyOwner, nameOf } from './failure-table.ts'

const status = (code: number) => ({ type: 'status', status: code }) as const

test.each<[UpstreamFailure, FailureName, KeyOwner?]>([
  [{ type: 'connection', isRefused: true }, 'unreachable'],
  [{ type: 'connection', isRefused: false }, 'reset'],
  [{ type: 'truncated' }, 'broke-off'],
  [{ type: 'malformed' }, 'malformed'],
  [{ type: 'excess' }, 'excess'],
  [{ type: 'incomplete', saidDone: true }, 'incomplete'],
  [{ type: 'incomplete', saidDone: false }, 'ended-early'],
  [status(500), 'failed'],
  [status(502), 'failed'],
  [status(504), 'failed'],
  [status(408), 'failed'],
  [status(503), 'unavailable'],
  [status(529), 'unavailable'],
  [{ ...status(503), retryAfterMs: 1 }, 'overloaded'],
  [{ ...status(500), retryAfterMs: 1 }, 'failed'],
  [status(429), 'overloaded'],
  [status(400), 'refused'],
  [status(422), 'refused'],
  [status(413), 'refused'],
  [status(301), 'refused'],
  [status(505), 'refused'],
  [status(404), 'not-offered'],
  [status(405), 'not-offered'],
  [status(501), 'not-offered'],
  [status(401), 'our-key'],
  [status(403), 'our-key'],
  [status(403), 'no-key', 'none'],
  [status(401), 'callers-key', 'callers'],
  [status(429), 'callers-key', 'callers'],
  [status(500), 'failed', 'callers'],
  [{ ...status(503), isEvent: true }, 'error-event'],
  [{ ...status(429), isEvent: true }, 'error-event'],
  [{ ...status(400), isEvent: true }, 'refused'],
  [{ ...status(502), code: 'invalid_output' }, 'invalid-output'],
  [{ ...status(500), code: 'invalid_output', isEvent: true }, 'invalid-output'],
  [{ ...status(502), code: 'upstream_failed' }, 'tried-elsewhere'],
])('the failure %j has the row %s', (failure, name, key = 'ours') => {
  expect(nameOf(failure, key)).toBe(name)
})

test('what may be the request alone takes no replica from others, and is tried twice at most', () => {
  for (const row of Object.values<FailureRow>(failureTable)) {
    if (!row.about.includes('request')) continue
    expect(row, row.when).toMatchObject({ breaker: expect.stringMatching(/^(compared|nothing)$/) })
    if (row.elsewhereOnly !== true) expect(row.attempts, row.when).toBeLessThanOrEqual(2)
  }
})

const page = fileURLToPath(new URL('../../../../../docs/engines/remote-failures.md', import.meta.url))

const breakers: Readonly<Record<FailureRow['breaker'], string>> = {
  opens: 'unhealthy immediately',
  counts: 'the third in a row',
  compared: 'the same, if another answers',
  busy: 'avoided for a while',
  trial: 'unhealthy again, on trial',
  nothing: 'nothing',
}

function table(): string {
  const lines = [
    ['failure', 'says something about', 'the server becomes', 'attempts', 'behind a router', 'a begun reply'],
    ...Object.values<FailureRow>(failureTable).map(({ when, about, breaker, attempts, elsewhereOnly, continues, atRouter }) => [
      when,
      about,
      breakers[breaker],
      elsewhereOnly === true ? `${attempts}, on others` : `${attempts}`,
      atRouter === undefined ? '1' : atRouter === 'again' ? '2' : '2, at another',
      attempts === 1 || !continues ? 'ends' : 'is continued',
    ]),
  ]
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? []
  const write = (line: readonly string[]) => `| ${line.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = lines
  return [write(head), write(widths.map((width) => '-'.repeat(width))), ...body.map(write)].join('\n')
}

test('the table in docs/engines/remote-failures.md shows the failures', async () => {
  const text = readFileSync(page, 'utf8')
  const [start, end] = ['<!-- failures -->\n\n', '\n\n<!-- /failures -->']
  const before = text.slice(0, text.indexOf(start) + start.length)
  await expect(before + table() + text.slice(text.indexOf(end))).toMatchFileSnapshot(page)
})
