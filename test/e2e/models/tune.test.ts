import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { randomModel } from '../../support/llama/models.ts'
import { useCommandLine } from '../../support/process/command-line.ts'
import { isFullLength, nightlyHint } from '../../support/process/soak-length.ts'

const cli = useCommandLine()

async function configFor(settings: string): Promise<string> {
  const config = join(cli.home, 'tuned.yaml')
  await writeFile(config, `# mine\nmodels:\n  - { id: m, source: ${await randomModel()}, threads: 1, ${settings} }\n`)
  return config
}

test.skipIf(!isFullLength)(
  `tune finds that a batch of one token is slow, and writes a larger one into the configuration${nightlyHint}`,
  // It is two minutes where nothing else runs.
  { timeout: 900_000 },
  async () => {
    const config = await configFor('batchSize: 1')
    const { code, out, err } = await cli.run(['tune', 'm', '--config', config, '--write'])
    expect(code, err).toBe(0)
    expect(out).toMatch(/^batchSize +1 +\d+ +\d+\.\d\d x$/m)
    expect(out).toMatch(/s with all of them: \d+\.\d\d times as fast\nwritten into /)
    expect(err).toMatch(/^flashAttention false: \d+\.\d s$/m)
    const written = await readFile(config, 'utf8')
    expect(written).toMatch(/^# mine/)
    expect(parse(written).models[0].batchSize).toBeGreaterThan(1)
  },
)

test('tune says why a model cannot be measured, and changes nothing', async () => {
  const config = await configFor('speculation: { type: mtp }')
  const before = await readFile(config, 'utf8')
  const { code, err } = await cli.run(['tune', 'm', '--config', config, '--write'])
  expect(code).not.toBe(0)
  expect(err).toMatch(/model 'm' cannot be measured as it is configured: .*no multi-token prediction/)
  expect(await readFile(config, 'utf8')).toBe(before)
})
