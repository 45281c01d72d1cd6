import { markdownTable } from '../protocols/markdown-table.ts'
import type { Verdict } from './judge.ts'
import { readingOf } from './protocols.ts'
import { type Recording, routeOf } from './recording.ts'

export type Judged = { readonly recording: Recording; readonly verdict: Verdict }

const intro = `# Clients

What real clients send with their default settings, and what becomes of it: a request that is kept in \`test/clients/recorded\`, sent to
a server, and its reply read as the client reads it. A test writes this page and fails when it is out of date.

- **works**: what was done with the client; each of its requests is answered in the form that the client reads.
- **refused**: in the words that the client shows.
- **ignored**: fields that the client sends and the server does not use; \`x-dragoman-ignored\` names them in each reply.

`

const others = `
## Refused to other programs

Of the requests that were made after the source or the documents of a program, or by a library, those that are refused. The model here has no tokens to
fill in the middle.

`

/** docs/reference/clients.md: a row for each client and protocol, and one for each refused request that is not recorded. */
export function renderClients(judged: readonly Judged[], more: readonly Judged[]): string {
  const rows = new Map<string, Judged[]>()
  for (const one of judged) {
    const { client, version } = one.recording
    const key = JSON.stringify([client, version, readingOf(one.recording)?.protocol ?? routeOf(one.recording)])
    rows.set(key, [...(rows.get(key) ?? []), one])
  }
  const cells = [...rows].map(([key, all]) => {
    const [client, version, protocol] = JSON.parse(key)
    const works = all.flatMap(({ recording, verdict }) => (verdict.refusal === undefined ? [recording.how] : []))
    const refused = all.flatMap(({ recording, verdict }) => {
      return verdict.refusal === undefined ? [] : [`${recording.how}: ${verdict.refusal.replaceAll('|', '\\|')}`]
    })
    const ignored = all.flatMap(({ verdict }) => verdict.ignored.map((field) => `\`${field}\``))
    return [client, version, protocol, listOf(works, '; '), listOf(refused, '; '), listOf(ignored, ', ')]
  })
  const refused = new Map(
    more.flatMap(({ recording, verdict: { refusal = '' } }) => {
      const { client, version, method } = recording
      const words = refusal.replaceAll('|', '\\|').replace(/^127\.0\.0\.1:\d+/, 'The hub')
      const row = [client, version, `\`${method} ${routeOf(recording)}\``, words]
      return refusal === '' ? [] : [[row.join('\n'), row] as const]
    }),
  )
  return (
    intro +
    markdownTable(['client', 'version', 'protocol', 'works', 'refused', 'ignored'], cells) +
    others +
    markdownTable(['program', 'version', 'request', 'refused'], [...refused.values()])
  )
}

function listOf(items: readonly string[], separator: string): string {
  return [...new Set(items)].join(separator)
}
