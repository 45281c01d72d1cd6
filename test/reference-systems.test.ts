import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { markdownTable } from './protocols/markdown-table.ts'
import type { Probe, ReferenceTable } from './reference-systems/row.ts'
import { tabbyTable } from './reference-systems/tabby.ts'
import { unslothTable } from './reference-systems/unsloth.ts'
import { type LoadingApp, startLoadingApp } from './support/http/loading-app.ts'

const tables: readonly ReferenceTable[] = [tabbyTable, unslothTable]
const introduction = `# Routes of tabbyAPI and Unsloth Studio

What a client of these servers finds here. A test sends the requests of each row that has a route.

- **served**: as there.
- **mapped**: the same purpose in another form.
- **refused**: not there; the reply says what to use instead.
`
const hint =
  'docs/reference-systems.md is out of date; regenerate it with: npx vitest run --project unit test/reference-systems.test.ts -u'

let app: LoadingApp
beforeAll(async () => {
  app = await startLoadingApp()
})
afterAll(() => app.close())

test('docs/reference-systems.md is what the tables say', async () => {
  const sections = tables.map(({ title, introduction: about, rows }) => {
    const lines = rows.map(({ what, outcome, note }) => [what, outcome, note])
    return `## ${title}\n\n${about}\n\n${markdownTable(['what', 'outcome', 'note'], lines)}`
  })
  await expect([introduction, ...sections].join('\n'), hint).toMatchFileSnapshot('../docs/reference-systems.md')
})

// In their order: some rows use what others loaded.
describe.each(tables)('$title', ({ rows }) => {
  test.each(rows.filter(({ probes }) => probes !== undefined))('$what: $outcome', async ({ probes = [] }) => {
    for (const probe of probes) expect(await send(probe), probe.call).toEqual(expectedOf(probe))
  })
})

async function send({ call, body, key = 'admin', headers }: Probe) {
  const [method = '', path = ''] = call.split(' ')
  const response = await fetch(`${app.url}${path}`, {
    method,
    headers: {
      ...(key !== 'none' && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, text: await response.text() }
}

function expectedOf({ status = 200, reply = /./s }: Probe) {
  return { status, text: expect.stringMatching(reply) }
}
