import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PageFile, PageFiles } from '../../http/run/deps.ts'

/** Where a build puts the page: three folders above this one, in both `src` and `dist`. */
const builtPage = fileURLToPath(new URL('../../../dist/page/', import.meta.url))

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** The page's files below a folder; undefined if it was not built. They are listed now, and read on first request. */
export function openPageFiles(folder = builtPage): PageFiles | undefined {
  if (!existsSync(`${folder}index.html.br`)) return undefined
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'))
  const known = new Set(names.filter((name) => types[extname(name)] !== undefined))
  const files = new Map<string, Promise<PageFile>>()
  return {
    async read(name) {
      if (!known.has(name)) return undefined
      const file = files.get(name) ?? readPageFile(folder + name)
      files.set(name, file)
      return file
    },
  }
}

async function readPageFile(path: string): Promise<PageFile> {
  const plain = await readFile(path)
  const type = types[extname(path)] ?? 'application/octet-stream'
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
  if (!existsSync(`${path}.gz`)) return { type, etag, plain }
  const [gzip, br] = await Promise.all([readFile(`${path}.gz`), readFile(`${path}.br`)])
  return { type, etag, plain, gzip, br }
}
