import { markdownTable } from '../protocols/markdown-table.ts'
import { type Row, type System, type Verdict, verdicts } from './row.ts'

const introduction = `# What clients of other servers find here

For users of LLaMA-Factory's API, MLC-LLM serve, tabbyAPI, llama-stack and Unsloth Studio: what they expect of their server, and what
Dragoman does. \`npm run compat\` starts servers, sends what each row is about, and looks at the reply, at what another server was sent, and at
files; what a request cannot show has a test, which it runs. It writes this page only if every row is as it says, and no verdict got worse.

- **better**: more than there.
- **works**: as there.
- **differs**: the same purpose in another way.
- **refused**: an error says why, or what to do instead.
- **missing**: not there.
`

/** docs/reference/compatibility.md. */
export function compatibilityDocument(systems: readonly System[]): string {
  const counted = [...verdicts].reverse()
  const totals = systems.map((system) => {
    const rows = rowsOf(system)
    const counts = counted.map((verdict) => String(rows.filter((row) => row.verdict === verdict).length))
    return [
      `[${system.title}](#${system.title
        .toLowerCase()
        .replace(/[^a-z0-9 -]/g, '')
        .replace(/ /g, '-')})`,
      String(rows.length),
      ...counts,
    ]
  })
  const summary = markdownTable(['system', 'rows', ...counted], totals)
  return [introduction, summary, ...systems.map(sectionOf)].join('\n')
}

function sectionOf({ title, prefix, introduction: about, groups }: System): string {
  const tables = groups.map((group) => {
    const lines = group.rows.map((row) => [`${prefix}${row.number}`, row.expects, row.verdict, noteOf(row)].map(escaped))
    return `### ${title}: ${group.title}\n\n${markdownTable(['row', 'what its users expect', 'verdict', 'here'], lines)}`
  })
  return [`## ${title}\n\n${about}\n`, ...tables].join('\n')
}

function noteOf({ how, steps }: Row): string {
  const tests = steps.flatMap((step) => (step.type === 'test' ? [`\`${step.file}\``] : []))
  return [how, ...new Set(tests)].filter((text) => text !== '').join('; ')
}

const escaped = (cell: string) => cell.replaceAll('|', '\\|')

/** The rows whose verdict was better in an earlier document. */
export function worseThan(earlier: string, systems: readonly System[]): readonly string[] {
  const before = new Map(
    [...earlier.matchAll(/^\| (\w+) +\| .*? \| (better|works|differs|refused|missing) +\|/gm)].map(
      ([, id = '', verdict = '']) => [id, verdict as Verdict],
    ),
  )
  return systems.flatMap((system) => {
    const ids = new Map(rowsOf(system).map((row) => [`${system.prefix}${row.number}`, row.verdict]))
    const mine = [...before].filter(([id]) => id.replace(/\d.*/, '') === system.prefix)
    return mine.flatMap(([id, verdict]) => {
      const now = ids.get(id)
      if (now === undefined) return [`${id}: was ${verdict}, and has no row now`]
      return verdicts.indexOf(now) < verdicts.indexOf(verdict) ? [`${id}: was ${verdict}, is ${now}`] : []
    })
  })
}

export function rowsOf({ groups }: System): readonly Row[] {
  return groups.flatMap(({ rows }) => rows)
}
