import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeRandomBert } from '../support/llama/random-bert.ts'
import { writeRandomModel } from '../support/llama/random-gguf.ts'

// Writes the models that stand in for those of llama.cpp's tests into the folder that is the only argument.

const folder = process.argv[2]
if (folder === undefined) throw new Error('expected a folder')
const infillTokens = ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>']
await writeRandomModel(join(folder, 'random.gguf'), { contextLength: 8192, moreControlTokens: infillTokens })
await writeRandomBert(join(folder, 'bert.gguf'), 'mean')
await writeRandomBert(join(folder, 'ranker.gguf'), 'rank')
const own = (name: string) => fileURLToPath(new URL(`../../models/${name}`, import.meta.url))
await copyFile(own('dragoman-tiny.gguf'), join(folder, 'sees.gguf'))
await copyFile(own('dragoman-tiny-mmproj.gguf'), join(folder, 'projector.gguf'))
