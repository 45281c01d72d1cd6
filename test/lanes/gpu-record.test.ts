import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recordOf, runSteps, stepsOf } from '../../scripts/gpu/record.mjs'
import { until } from '../support/http/app.ts'
import { isAlive } from '../support/process/is-alive.ts'

const folder = join(import.meta.dirname, '../e2e')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'))
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { 'gpu-tests': string } }

const node = (script: string) => [process.execPath, ['-e', script]] as const

test('the steps run within their time, and one that fails or hangs is recorded beside the others', async () => {
  const hanging = `
    const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'])
    console.log(child.pid)
    setInterval(() => 0, 1000)
  `
  const results = await runSteps(
    [
      { name: 'works', share: 1, command: node('console.log("well")') },
      { name: 'fails', share: 1, command: node('console.error("badly"); process.exit(3)') },
      { name: 'hangs', share: 1, command: node(hanging) },
      { name: 'absent', skipped: 'without --model' },
      { name: 'ends', share: 5, command: node('console.log("last")') },
    ],
    { limitMs: 8000 },
  )
  expect(results.map(({ name, outcome }) => [name, outcome.replace(/\d+ s$/, 'N s')])).toEqual([
    ['works', 'passed'],
    ['fails', 'failed with code 3'],
    ['hangs', 'ended after its time, N s'],
    ['absent', 'skipped: without --model'],
    ['ends', 'passed'],
  ])
  const child = Number(results[2]?.output)
  expect(child).toBeGreaterThan(0)
  await until(() => !isAlive(child))
  const record = recordOf(results, { date: '2026-11-29', machine: 'one GPU', commit: 'abc', command: 'npm run gpu-record' })
  expect(record).toContain('| fails | failed with code 3 |')
  expect(record).toContain('## fails\n\n```\nbadly\n```')
})

test('drafts are measured with a model only', () => {
  const drafts = (options: { model?: string; draft?: string }) => stepsOf(options).find(({ name }) => name === 'drafts')
  expect(drafts({})).toMatchObject({ skipped: 'without --model' })
  expect(drafts({ model: 'm.gguf', draft: 'd.gguf' })?.command?.[1].slice(-2)).toEqual(['m.gguf', 'd.gguf'])
})

test('a trial on a processor asks nothing of a GPU', () => {
  const words = (cpu: boolean) => stepsOf({ cpu }).flatMap(({ command }) => command?.flat(2) ?? [])
  expect(words(false)).toEqual(expect.arrayContaining(['--gpu', 'DRAGOMAN_TEST_GPU=1']))
  expect(words(true)).toContain('DRAGOMAN_TEST_GPU=0')
  expect(words(true)).not.toContain('--gpu')
})

test('the GPU tests load only files that have some, and all of them', () => {
  const filters = scripts['gpu-tests'].split(' --tags-filter gpu ')[1]?.split(' ') ?? []
  const chosen = files.filter((file) => filters.some((filter) => file.includes(filter)))
  expect(chosen).toEqual(files.filter((file) => readFileSync(join(folder, file), 'utf8').includes("tags: ['gpu']")))
})
