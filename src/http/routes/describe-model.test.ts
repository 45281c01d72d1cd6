import { expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { describeModel } from './describe-model.ts'

test('a model is of the kind that its server says, and has no kind where none is said', async () => {
  const { deps } = openTestServer()
  const summary = deps.models.summary(deps.models.get('default', {}))
  expect(await describeModel(deps, { ...summary, kind: 'embeddings' }, {})).toMatchObject({ id: 'org/fake', kind: 'embeddings' })
  expect(await describeModel(deps, summary, {})).not.toHaveProperty('kind')
})
