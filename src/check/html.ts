import type { CheckReport, CheckResult } from './check.ts'
import { areas } from './probe/row.ts'

/** The report as a page without scripts, which a browser can open from a file. */
export function htmlOf(report: CheckReport): string {
  const { url, model, at, requests, ms, tokens, results } = report
  const found = results.filter(({ outcome }) => outcome === 'finding')
  const about = `${model} at ${url}, ${at.slice(0, 10)}: ${requests} requests in ${Math.round(ms / 1000)} s, ${tokens.input} tokens read and ${tokens.output} written.`
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Check of ${escaped(url)}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
table { border-collapse: collapse } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; padding: .5rem; background: #8882 }
.severe { color: #c22 } .moderate { color: #a60 }
</style>
<h1>${found.length === 0 ? 'No findings' : `${found.length} findings`}</h1>
<p>${escaped(about)}</p>
${found.map(section).join('\n')}
<h2>All checks</h2>
<table><tr><th>Check<th>Result<th>Why</tr>
${areas
  .flatMap((area) => results.filter((result) => result.area === area))
  .map(line)
  .join('\n')}
</table></html>
`
}

function section({ id, weight, protocol, feltBy, why = '', exchanges = [] }: CheckResult): string {
  const shown = exchanges.map(({ sent, came }) => `<pre>${escaped(sent)}</pre><pre>${escaped(came)}</pre>`)
  return `<h2 class="${weight}">${id} (${weight})</h2>
<p>${escaped(protocol)}<br>Found: ${escaped(why)}<br>Felt by: ${escaped(feltBy)}</p>
<details><summary>What was sent, and what came</summary>${shown.join('')}</details>`
}

const line = ({ id, outcome, why = '', protocol }: CheckResult) =>
  `<tr><td title="${escaped(protocol)}">${id}<td>${outcome}<td>${escaped(why)}</tr>`

const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
