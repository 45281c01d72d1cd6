import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packInto } from '../../support/process/packed.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'dragoman-door-'))
const home = join(folder, 'home')
const guide = readFileSync(join(root, 'docs', 'library.md'), 'utf8')
const blockOf = (language: string) => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? ''

/**
 * Installs the packed package in an empty folder. Its dependencies are those of this checkout, linked. (packed.test.ts has npm install it.)
 */
async function install(): Promise<void> {
  const tarball = await packInto(folder)
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, 'dragoman'), { recursive: true })
  await run('tar', ['-xzf', tarball, '-C', join(modules, 'dragoman'), '--strip-components=1'])
  for (const name of readdirSync(join(root, 'node_modules'))) {
    // The MCP client is in the package: it is bundled.
    if (!name.startsWith('.') && !['@node-llama-cpp', '@modelcontextprotocol', 'node-llama-cpp', 'koffi'].includes(name))
      symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  // As the first start installs it.
  const packages = ['koffi', 'node-llama-cpp']
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const name = packages.map((one) => `${one}-${devDependencies[one]}`).join('-')
  const engine = join(home, 'engines', name, 'node_modules')
  mkdirSync(engine, { recursive: true })
  for (const one of packages) symlinkSync(join(root, 'node_modules', one), join(engine, one))
}

describe('the packed package in an empty folder', () => {
  beforeAll(async () => {
    await install()
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'empty', type: 'module' }))
    writeFileSync(join(folder, 'program.ts'), blockOf('ts'))
    const compilerOptions = { strict: true, target: 'es2023', module: 'nodenext', types: ['node'], outDir: 'out', rootDir: '.' }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('the program of docs/library.md has right types, and does what the document says', async () => {
    await run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder])
    const env = { ...process.env, DRAGOMAN_HOME: home }
    const { stdout } = await run(process.execPath, ['out/program.js'], { cwd: folder, env })
    expect(stdout).toBe(blockOf('text'))
  })

  test('its command runs the built-in model with the llama.cpp in the data folder', async () => {
    const program = join(folder, 'node_modules', 'dragoman', 'dist', 'cli', 'program.js')
    const env = { ...process.env, DRAGOMAN_HOME: home, DRAGOMAN_SERVER: 'http://127.0.0.1:9' }
    const prompt = ['run', 'dragoman-tiny', 'What is the capital of France?']
    const { stdout } = await run(process.execPath, [program, ...prompt], { cwd: folder, env })
    expect(stdout).toContain('Paris')
  })

  test('it brings the MCP client that it uses, and the licences of what is in it', async () => {
    const program =
      "import('./node_modules/dragoman/dist/tools/mcp/protocol.js').then(({ Client }) => console.log(typeof Client))"
    const { stdout } = await run(process.execPath, ['-e', program], { cwd: folder })
    expect(stdout.trim()).toBe('function')
    const bundled = JSON.parse(readFileSync(join(folder, 'node_modules', 'dragoman', 'dist', 'bundled.json'), 'utf8'))
    expect(bundled.map(({ name }: { name: string }) => name)).toContain('@modelcontextprotocol/client')
    for (const { name, text } of bundled) expect(text, name).toMatch(/Licen[sc]e|Permission is hereby granted/)
  })

  test('it has the types of each of its doors, and the files that they refer to', () => {
    const place = join(folder, 'node_modules', 'dragoman')
    const { exports } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as {
      exports: Record<string, { types?: string }>
    }
    const doors = Object.values(exports).flatMap(({ types }) => types ?? [])
    expect(doors.length).toBeGreaterThan(1)
    const seen = new Set<string>()
    const visit = (file: string) => {
      if (seen.has(file)) return
      seen.add(file)
      const imports = readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)'/g)
      for (const [, path = ''] of imports) visit(join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')))
    }
    for (const door of doors) visit(join(place, door))
    expect(seen.size).toBeGreaterThan(doors.length)
  })

  test('only the public doors open', async () => {
    const program = "import('dragoman/dist/core/generate.js').catch((error) => console.log(error.code))"
    const { stdout } = await run(process.execPath, ['-e', program], { cwd: folder })
    expect(stdout.trim()).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED')
  })
})
