import { expect, test } from 'vitest'
import { renderProtocols } from './field-tables.ts'

const hint = 'docs/protocols.md is out of date; regenerate it with: npm run unit -- test/protocols -u'

test('docs/protocols.md is what the field tables say', async () => {
  await expect(renderProtocols(), hint).toMatchFileSnapshot('../../docs/protocols.md')
})
