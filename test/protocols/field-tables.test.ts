import { expect, test } from 'vitest'
import { renderIndex, renderPages } from './field-tables.ts'

const hint = 'docs/reference/protocols is out of date; regenerate it with: npm run unit -- test/protocols -u'

test.each<readonly [name: string, text: string]>([
  ['', renderIndex()],
  ...renderPages().map(([name, text]) => [`/${name}`, text] as const),
])('docs/reference/protocols%s.md is what the field tables say', async (name, text) => {
  await expect(text, hint).toMatchFileSnapshot(`../../docs/reference/protocols${name}.md`)
})

test('each page of the field tables has a table', () => {
  expect(renderPages().filter(([, text]) => !text.includes('\n## '))).toEqual([])
})
