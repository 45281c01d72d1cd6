import { writeFile } from 'node:fs/promises'
import { printable } from '../app/log/printable.ts'
import { bounds, type CheckReport, type CheckResult, check } from '../check/check.ts'
import { htmlOf } from '../check/html.ts'
import { requireFolderOf } from './terminal/require-folder.ts'

export type CheckFlags = {
  readonly model?: string
  readonly vectorModel?: string
  readonly key?: string | undefined
  readonly only?: readonly string[]
  readonly json?: boolean
  readonly html?: string
}

/** Checks a server, and prints what does not hold. Returns the exit code: 1 if something does not. */
export async function checkServer(url: string, { key, json = false, html, ...options }: CheckFlags): Promise<number> {
  if (html !== undefined) await requireFolderOf(html)
  console.error(
    `sends at most ${bounds.mostRequests} requests in ${Math.ceil(bounds.mostMs / 60_000)} minutes; a server that charges for tokens charges for these`,
  )
  const onResult = (result: CheckResult) => {
    if (!json && result.outcome === 'finding') console.log(findingLines(result))
  }
  const report = await check({ url, apiKey: key, onResult, ...options })
  if (json) console.log(JSON.stringify(report, null, 2))
  else console.log(summaryOf(report))
  if (html !== undefined) await writeFile(html, htmlOf(report))
  return report.results.some(({ outcome }) => outcome === 'finding') ? 1 : 0
}

function findingLines({ id, weight, protocol, feltBy, why = '', exchanges = [] }: CheckResult): string {
  const last = exchanges.at(-1)
  const lines = [`${weight}: ${id}`, `  ${protocol}`, `  found: ${why}`, `  felt by: ${feltBy}`]
  if (last !== undefined) lines.push(`  sent: ${last.sent}`, `  came: ${last.came}`)
  return `${lines.map(printable).join('\n')}\n`
}

function summaryOf({ results, requests, ms, tokens, model }: CheckReport): string {
  const outcomes = ['holds', 'finding', 'unproven', 'absent', 'not-run'] as const
  const names = { holds: 'hold', finding: 'do not', unproven: 'unproven', absent: 'not offered', 'not-run': 'not run' }
  const counts = outcomes.map((outcome) => ({ outcome, count: results.filter((result) => result.outcome === outcome).length }))
  const clients = results.filter(({ area }) => area === 'clients')
  const works = clients.filter(({ outcome }) => outcome === 'holds').map(({ id }) => id.replace('clients-', ''))
  return printable(
    [
      `${model}: ${counts
        .filter(({ count }) => count > 0)
        .map(({ outcome, count }) => `${count} ${names[outcome]}`)
        .join(', ')}`,
      `${requests} requests in ${Math.round(ms / 1000)} s, ${tokens.input} tokens read, ${tokens.output} written`,
      ...(clients.length > 0 ? [`programs that work here: ${works.join(', ') || 'none'}`] : []),
    ].join('; '),
  )
}
