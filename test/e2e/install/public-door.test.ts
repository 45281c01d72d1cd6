import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stepsOf } from '../../support/guides/guide.ts'
import { packInto } from '../../support/process/packed.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'dragoman-door-'))
const home = join(folder, 'home')
const library = readFileSync(join(root, 'docs', 'library.md'), 'utf8')
const printed = /```text\n([\s\S]*?)```/.exec(library)?.[1]

/** The programs of the documents, each page in a folder of its own, as paths. */
function writePrograms(): readonly string[] {
  const guides = readdirSync(join(root, 'docs', 'guides')).map((name) => `guides/${name}`)
  return ['library.md', 'tutorial.md', ...guides].flatMap((page) => {
    const text = readFileSync(join(root, 'docs', page), 'utf8')
    const steps = stepsOf(text).filter((step) => step.type === 'write' && /\.[mc]?[jt]s$/.test(step.file))
    // A program without a name would be neither checked nor run.
    expect(steps, page).toHaveLength([...text.matchAll(/^```[jt]sx?$/gm)].length)
    return steps.flatMap((step) => {
      if (step.type !== 'write') return []
      const path = join(page.replace('.md', ''), step.file)
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), step.text)
      return [path]
    })
  })
}

/** The complaints of the compiler about files. */
async function compile(name: string, files: readonly string[], options: object): Promise<string> {
  const compilerOptions = { strict: true, target: 'es2023', types: ['node'], skipLibCheck: false, rootDir: '.', ...options }
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ compilerOptions, files }))
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const compiled = run(process.execPath, [tsc, '-p', join(folder, `${name}.json`)])
  return compiled.then(
    () => '',
    ({ stdout }: { readonly stdout: string }) => stdout,
  )
}

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
  let programs: readonly string[]
  beforeAll(async () => {
    await install()
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'empty', type: 'module' }))
    programs = writePrograms()
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('the programs of the documents have right types, for Node.js and for bundlers', async () => {
    const ours = programs.filter((path) => / from '(?:\..*\/)?dragoman/.test(readFileSync(join(folder, path), 'utf8')))
    // Next.js bundles: its imports have no extensions.
    const own = ours.filter((path) => !/^guides\/in-your-server\/(?:app|lib)/.test(path))
    expect(own.length).toBeGreaterThan(7)
    const js = { checkJs: true, maxNodeModuleJsDepth: 0 }
    expect(await compile('nodenext', own, { module: 'nodenext', outDir: 'out', ...js })).toBe('')
    const bundled = { module: 'esnext', moduleResolution: 'bundler', noEmit: true, ...js }
    expect(await compile('bundler', ours, bundled)).toBe('')
  })

  test('the programs of docs/library.md print what it says', async () => {
    const env = { ...process.env, DRAGOMAN_HOME: home }
    const output = async (name: string) => (await run(process.execPath, [`out/library/${name}.js`], { cwd: folder, env })).stdout
    expect(await output('program')).toBe(printed)
    const errors = await output('errors')
    expect(errors).toContain(
      "invalid-request [ 'sampling', 'temperature' ] sampling.temperature: expected a number from 0 to 10, got 99",
    )
    expect(errors).toContain('cancelled Error: too late')
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
    const names = bundled.map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining(['@modelcontextprotocol/client', 'node-llama-cpp', 'lifecycle-utils']))
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
