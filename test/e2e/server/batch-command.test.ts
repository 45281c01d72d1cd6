import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { useCommandLine } from '../../support/process/command-line.ts'

const cli = useCommandLine()
let url: string
beforeAll(async () => {
  const server = await cli.serve()
  cli.keep(server)
  url = server.url
})

async function write(name: string, contents: readonly string[]): Promise<string> {
  const path = join(cli.home, name)
  const lines = contents.map((content, index) => {
    const body = { model: 'default', messages: [{ role: 'user', content }] }
    return JSON.stringify({ custom_id: `${index}`, method: 'POST', url: '/v1/chat/completions', body })
  })
  await writeFile(path, lines.join('\n'))
  return path
}
const linesOf = async (path: string) =>
  (await readFile(path, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('dragoman batch run writes the results of a file, and its failures apart', async () => {
  const path = await write('mixed.jsonl', ['Hello.', '{"failAfter": 0}', 'Bye.'])
  const { code, err } = await cli.run(['batch', 'run', path, '--model', 'scripted', '--server', url])
  expect(err).toContain('2 of 3 succeeded, 1 failed')
  expect(code).toBe(1)
  const results = await linesOf(join(cli.home, 'mixed.results.jsonl'))
  expect(results.map(({ custom_id, response }) => [custom_id, response.body.model])).toEqual([
    ['0', 'scripted'],
    ['2', 'scripted'],
  ])
  expect((await linesOf(join(cli.home, 'mixed.results.errors.jsonl'))).map(({ custom_id }) => custom_id)).toEqual(['1'])
  expect((await cli.run(['batch', 'list', '--server', url])).out).toMatch(/completed +3\/3 +1/)
})

test('dragoman batch run follows the batch that it left, until it is cancelled', async () => {
  const slow = JSON.stringify({ raw: 'late', delayMs: 3_600_000 })
  const path = await write('slow.jsonl', ['Hello.', slow])
  const first = cli.start(['batch', 'run', path, '--server', url])
  await until(() => /50% of 2 requests/.test(first.err()))
  first.child.kill('SIGINT')
  expect(await first.ended).toBe(130)
  const second = cli.start(['batch', 'run', path, '--server', url])
  await until(() => second.err().includes('runs this file already'))
  const id = /batch (batch_\w+)/.exec(first.err())?.[1] ?? ''
  expect((await cli.run(['batch', 'cancel', id, '--server', url])).out).toContain(`batch ${id} is cancelling`)
  expect(await second.ended).toBe(1)
  expect(second.err()).toContain('cancelled: 1 of 2 succeeded')
})

test('dragoman batch run writes the results of a batch that has ended since it was stopped, and then runs the file again', async () => {
  const path = await write('left.jsonl', ['Hello.', JSON.stringify({ raw: 'late', delayMs: 3000 })])
  const first = cli.start(['batch', 'run', path, '--server', url])
  await until(() => /\d+% of 2 requests/.test(first.err()))
  first.child.kill('SIGINT')
  expect(await first.ended).toBe(130)
  const id = /batch (batch_\w+)/.exec(first.err())?.[1] ?? ''
  await until(async () => ((await (await fetch(`${url}/v1/batches/${id}`)).json()) as { status: string }).status === 'completed')
  const second = await cli.run(['batch', 'run', path, '--server', url])
  expect(second).toMatchObject({ code: 0, err: expect.stringContaining(`batch ${id} has run this file`) })
  expect(await linesOf(join(cli.home, 'left.results.jsonl'))).toHaveLength(2)
  const third = await cli.run(['batch', 'run', path, '--server', url])
  expect(third).toMatchObject({ code: 0, err: expect.not.stringContaining(id) })
})

test.each([[], ['--model', 'scripted']])(
  'dragoman batch run reads files as editors on Windows write them: %s',
  async (...flags) => {
    const path = await write('windows.jsonl', ['One.', 'A separator\u2028in a text.'])
    const lines = (await readFile(path, 'utf8')).split('\n')
    await writeFile(path, `\uFEFF${['', ...lines, ''].join('\r\n')}`)
    const { code, err } = await cli.run(['batch', 'run', path, ...flags, '--server', url])
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('2 of 2 succeeded') })
    const results = await linesOf(join(cli.home, 'windows.results.jsonl'))
    expect(results[1].response.body.choices[0].message.content).toContain('\u2028')
  },
)

test('dragoman batch run names the lines with faults', async () => {
  const path = join(cli.home, 'faulty.jsonl')
  await writeFile(path, '{"custom_id": "a", "method": "POST", "url": "/v1/embeddings", "body": {"model": "nobody"}}\n{}')
  const { code, err } = await cli.run(['batch', 'run', path, '--server', url])
  expect(code).toBe(1)
  expect(err).toMatch(/line 1: .*nobody/)
  expect(err).toContain('line 2: method is missing')
})
