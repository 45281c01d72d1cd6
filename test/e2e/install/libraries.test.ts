import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'dragoman-libraries-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Scripts = { readonly libraries: Readonly<Record<string, unknown>>; packLibraries(folder: string): readonly string[] }
const { libraries, packLibraries } = (await import(pathToFileURL(join(root, 'scripts', 'libraries.mjs')).href)) as Scripts
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const files = packLibraries(folder)

describe.each(Object.keys(libraries))('the library of src/%s, installed by npm in an empty folder', (name) => {
  const place = join(folder, name)
  const readme = readFileSync(join(root, 'src', name, 'README.md'), 'utf8')
  const blockOf = (language: string) => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1] ?? ''

  test('needs no other package, and the example of its README has right types and prints what is said there', async () => {
    mkdirSync(place)
    writeFileSync(join(place, 'package.json'), JSON.stringify({ name: 'empty', type: 'module' }))
    const env = { PATH: process.env.PATH, HOME: place, npm_config_offline: 'true', npm_config_cache: join(place, 'cache') }
    const packed = join(folder, `dragoman-${name}-${version}.tgz`)
    await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', packed], { cwd: place, env })
    const lock = JSON.parse(readFileSync(join(place, 'package-lock.json'), 'utf8'))
    expect(Object.keys(lock.packages)).toEqual(['', `node_modules/dragoman-${name}`])

    writeFileSync(join(place, 'program.ts'), blockOf('ts'))
    const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false }
    const compilerOptions = { ...strict, target: 'es2023', module: 'nodenext', lib: ['es2023', 'dom'], types: [], outDir: 'out' }
    writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
    await run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', place])
    const { stdout } = await run(process.execPath, ['out/program.js'], { cwd: place })
    expect(stdout).toBe(blockOf('text'))
  })
})

test('the release publishes this package and each library', () => {
  const workflow = readFileSync(join(root, '.github', 'workflows', 'release.yml'), 'utf8')
  const [, published = ''] = /package:\n((?: +- .*\n)+)/.exec(workflow) ?? []
  const names = published
    .trim()
    .split('\n')
    .map((line) => line.trim().slice('- '.length))
  // Those of the library for media are made where it is built.
  const packed = names.filter((name) => !name.startsWith('dragoman-senses-'))
  expect(packed.map((name) => `${name}-${version}.tgz`)).toEqual([`dragoman-${version}.tgz`, ...files])
})
