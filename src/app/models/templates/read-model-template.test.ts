import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readModelTemplate } from './read-model-template.ts'

/** A folder with these files; objects are written as JSON. */
async function folderWith(files: Readonly<Record<string, string | object>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-template-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(folder, { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return folder
}

test('a file is the template', async () => {
  const folder = await folderWith({ 'a.jinja': 'hi' })
  expect(await readModelTemplate(join(folder, 'a.jinja'))).toEqual({ source: 'hi' })
})

test.each([
  ['plain texts', { bos_token: '<s>', eos_token: '</s>', chat_template: 'hi' }, { bos: '<s>', eos: '</s>' }],
  ['padding', { pad_token: '<pad>', unk_token: { content: '<unk>' }, chat_template: 'hi' }, { pad: '<pad>', unk: '<unk>' }],
  ['objects', { bos_token: { content: '<s>' }, eos_token: null, chat_template: 'hi' }, { bos: '<s>' }],
  [
    'several templates',
    {
      chat_template: [
        { name: 'rag', template: 'no' },
        { name: 'default', template: 'hi' },
      ],
    },
    {},
  ],
  [
    'what it says about its tokens',
    {
      chat_template: 'hi',
      add_bos_token: false,
      added_tokens_decoder: { 1: { content: '<s>', special: true }, 2: { content: '<think>', special: false } },
    },
    { addsBos: false, specialTexts: ['<s>'] },
  ],
])('a folder is that of a model: %s', async (_, config, expected) => {
  const folder = await folderWith({ 'tokenizer_config.json': config })
  expect(await readModelTemplate(folder)).toEqual({ source: 'hi', ...expected })
})

test('a file that is far longer than templates is not read', async () => {
  const folder = await folderWith({ 'a.jinja': 'hi' })
  await truncate(join(folder, 'a.jinja'), 1e9)
  await expect(readModelTemplate(join(folder, 'a.jinja'))).rejects.toThrow('cannot be read: it has more than 16777216 bytes')
})

test('a template of its own wins over that of the configuration', async () => {
  const folder = await folderWith({
    'chat_template.jinja': 'new',
    'tokenizer_config.json': { chat_template: 'old', bos_token: 'b' },
  })
  expect(await readModelTemplate(folder)).toEqual({ source: 'new', bos: 'b' })
})

test.each([
  ['no template', { 'tokenizer_config.json': {} }, 'no chat_template.jinja'],
  ['a wrong configuration', { 'tokenizer_config.json': { bos_token: 7 } }, 'bos_token'],
  ['no JSON', { 'tokenizer_config.json': '{' }, 'JSON'],
])('a folder with %s makes the model unavailable', async (_, files, words) => {
  const folder = await folderWith(files)
  await expect(readModelTemplate(folder)).rejects.toMatchObject({
    code: 'model-unavailable',
    message: expect.stringContaining(words),
  })
})

test('a path without a file makes the model unavailable', async () => {
  await expect(readModelTemplate('/nowhere')).rejects.toMatchObject({
    code: 'model-unavailable',
    message: expect.stringContaining('there is no such file'),
  })
})
