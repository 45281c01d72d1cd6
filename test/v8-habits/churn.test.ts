import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('what has left a ChurnMap is collected at once, which a Map does only until its first full collection', async () => {
  const script = fileURLToPath(new URL('../support/process/churn-child.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script])
  const fullCollections = JSON.parse(stdout)
  expect(fullCollections.churnMap).toBe(0)
  // Once this fails, V8 has changed, and ChurnMap and ChurnSet can go.
  expect(fullCollections.map).toBeGreaterThan(1)
})
