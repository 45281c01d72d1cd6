import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const training = fileURLToPath(new URL('../../../models/training', import.meta.url))

test('what dragoman-tiny is evaluated on shares no sentence pattern and no slot value with what it was trained on', async () => {
  const { stderr } = await promisify(execFile)('python3', ['-B', '-m', 'unittest', 'tests.test_split'], { cwd: training })
  expect(stderr).toMatch(/Ran 6 tests .*\n\nOK/s)
}, 300_000)
