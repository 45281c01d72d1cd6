import { readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from './load.ts'
import { configJsonSchema } from './schema.ts'

type Inputs = Parameters<typeof loadConfig>[0]

const bare: Inputs = { flags: {}, env: {}, cwd: '/work', userHome: '/home/me' }
/** dragoman.example.yaml of each version. */
const before = fileURLToPath(new URL('../../test/fixtures/configurations', import.meta.url))
const fake = '{ id: f, engine: fake, script: from-request }'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-config-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function fromFile(text: string, { flags, ...inputs }: Partial<Inputs> = {}) {
  const config = join(folder, 'd.yaml')
  await writeFile(config, text)
  return loadConfig({ ...bare, ...inputs, flags: { ...flags, config } })
}

async function problemsOf(text: string, inputs: Partial<Inputs> = {}): Promise<string> {
  const error: unknown = await fromFile(text, inputs).catch((reason: unknown) => reason)
  if (error instanceof Error) return error.message.replaceAll(`${join(folder, 'd.yaml')}:`, '')
  throw new Error('the configuration was accepted')
}

describe('precedence', () => {
  test('without settings, the default model is served on loopback, with the built-in one as its stand-in', async () => {
    const { server, log, models, home } = await loadConfig(bare)
    expect(server).toMatchObject({ host: '127.0.0.1', port: 7411, heartbeatMs: 10_000, shutdownGraceMs: 30_000 })
    expect(log.level).toBe('info')
    expect(models).toMatchObject([
      { id: 'smollm2-135m-instruct', engine: 'llama', aliases: ['default'], slots: 4, standIn: 'dragoman-tiny' },
      { id: 'dragoman-tiny', engine: 'llama', load: 'demand', aliases: [], toolStrategy: 'two-pass' },
    ])
    expect(models[0]).toMatchObject({ source: [{ type: 'hf' }, { type: 'wheel' }] })
    expect(home).toBe('/home/me/.cache/dragoman')
  })

  const file = `server: { host: file, port: 1, apiKeys: [file] }\nlog: { level: warn }\nmodels: [${fake}]`
  const env = {
    DRAGOMAN_HOST: 'env',
    DRAGOMAN_PORT: '2',
    DRAGOMAN_LOG_LEVEL: 'error',
    DRAGOMAN_API_KEY: 'env',
    DRAGOMAN_HOME: 'data',
  }

  test('the file wins over defaults', async () => {
    expect(await fromFile(file)).toMatchObject({ server: { host: 'file', port: 1, apiKeys: ['file'] }, log: { level: 'warn' } })
  })

  test('the environment wins over the file', async () => {
    const config = await fromFile(file, { env })
    expect(config).toMatchObject({ server: { host: 'env', port: 2, apiKeys: ['env'] }, log: { level: 'error' } })
    expect(config.home).toBe('/work/data')
  })

  test('a flag wins over the environment', async () => {
    const config = await fromFile(file, { env, flags: { host: 'flag', port: '3', logLevel: 'debug' } })
    expect(config).toMatchObject({ server: { host: 'flag', port: 3 }, log: { level: 'debug' } })
  })

  test('host names are a list', async () => {
    const { server } = await fromFile('server: { allowedHosts: [file] }', {
      env: { DRAGOMAN_ALLOWED_HOSTS: 'dragoman, llm.example.com ,' },
    })
    expect(server.allowedHosts).toEqual(['dragoman', 'llm.example.com'])
  })

  test('an empty variable counts as unset', async () => {
    expect(await loadConfig({ ...bare, env: { DRAGOMAN_PORT: '', DRAGOMAN_HOME: '' } })).toMatchObject({
      server: { port: 7411 },
      home: '/home/me/.cache/dragoman',
    })
  })
})

test('origins of pages, extensions and desktop applications are accepted', async () => {
  const allowedOrigins = [
    'http://localhost:3000',
    'https://a.example',
    'chrome-extension://abc',
    'tauri://localhost',
    'http://localhost:*',
    'https://*.a.example',
    'chrome-extension://*',
    '*',
  ]
  expect((await fromFile(`server: { allowedOrigins: ${JSON.stringify(allowedOrigins)} }`)).server).toMatchObject({
    allowedOrigins,
  })
})

describe('models', () => {
  test('paths in the file are relative to the file, those of flags to the working folder', async () => {
    const text = `models:
  - { id: a, engine: llama, source: [models/a.gguf, ~/b.gguf, hf:o/r/c.gguf], chatTemplate: t.jinja }
  - { id: b, engine: fake, script: s.yaml, chatTemplate: ../t.jinja }
  - { id: c, engine: remote, endpoints: [{ url: http://a/v1 }], protocol: completions, chatTemplate: models/c }
  - { id: d, engine: llama, source: /d.gguf, draft: { source: models/small.gguf } }
  - { id: e, engine: llama-server, source: /e.gguf, draft: { source: models/small.gguf, maxTokens: 4 } }`
    expect((await fromFile(text, { flags: { models: ['x.gguf'] } })).models).toMatchObject([
      { id: 'x', source: [{ path: '/work/x.gguf' }] },
      {
        source: [{ path: join(folder, 'models/a.gguf') }, { path: '/home/me/b.gguf' }, { type: 'hf' }],
        chatTemplate: join(folder, 't.jinja'),
      },
      { script: join(folder, 's.yaml'), chatTemplate: join(folder, '../t.jinja') },
      { id: 'c', chatTemplate: join(folder, 'models/c') },
      { id: 'd', draft: { source: [{ path: join(folder, 'models/small.gguf') }] } },
      { id: 'e', draft: { source: [{ path: join(folder, 'models/small.gguf') }], maxTokens: 4 } },
      { id: 'dragoman-tiny' },
    ])
  })

  test('--model names a model after its file and serves the first as default', async () => {
    const { models } = await loadConfig({ ...bare, flags: { models: ['hf:o/r/q/My-Model.Q4_K_M.gguf', '/m/b c.gguf'] } })
    expect(models).toMatchObject([
      { id: 'My-Model.Q4_K_M', aliases: ['default'], engine: 'llama' },
      { id: 'b-c', aliases: [], engine: 'llama' },
      { id: 'dragoman-tiny' },
    ])
  })

  test('--model takes the alias default from the file', async () => {
    const text = 'models: [{ id: f, engine: fake, script: from-request, aliases: [default, other] }]'
    const { models } = await fromFile(text, { flags: { models: ['/m/a.gguf'] } })
    expect(models.map(({ id, aliases }) => [id, aliases])).toEqual([
      ['a', ['default']],
      ['f', ['other']],
      ['dragoman-tiny', []],
    ])
  })

  test('a model file called default needs no alias', async () => {
    expect((await loadConfig({ ...bare, flags: { models: ['/m/default.gguf'] } })).models[0]).toMatchObject({
      id: 'default',
      aliases: [],
    })
  })

  test('the built-in model can be disabled, and its name used by another', async () => {
    const ids = async (text: string) => (await fromFile(text)).models.map(({ id, engine }) => [id, engine])
    expect(await ids(`builtinModel: false\nmodels: [${fake}]`)).toEqual([['f', 'fake']])
    expect(await ids(`models: [${fake.replace('id: f', 'id: dragoman-tiny')}]`)).toEqual([['dragoman-tiny', 'fake']])
    expect((await fromFile('builtinModel: false')).models).toMatchObject([{ id: 'smollm2-135m-instruct' }])
  })

  test('the same name from the file and from --model is refused', async () => {
    expect(await problemsOf(`models: [${fake}]`, { flags: { models: ['/m/f.gguf'] } })).toContain(
      "--model: two models have the id 'f'",
    )
  })

  test('a model of the file with the id default conflicts with --model', async () => {
    const named = fake.replace('id: f', 'id: default')
    expect(await problemsOf(`models: [${named}]`, { flags: { models: ['/m/f.gguf'] } })).toContain("'default'")
  })
})

describe('errors', () => {
  test.each([
    ['sever: {}', "1: sever: unknown key 'sever'; did you mean 'server'?"],
    ['server:\n  heartbeat_ms: 5', "2: server.heartbeat_ms: unknown key 'heartbeat_ms'; did you mean 'heartbeatMs'?"],
    ['log: { zzz: 1 }', "1: log.zzz: unknown key 'zzz'; known keys: level"],
    ['storage: { kind: a }', "1: storage.kind: unknown key 'kind'; known keys: database, ttlDays"],
    [`models:\n  - ${fake.replace('}', ', slot: 3 }')}`, "2: models[0].slot: unknown key 'slot'; did you mean 'slots'?"],
    [
      `models:\n  - ${fake.replace('}', ', gpuLayers: 3 }')}`,
      "models[0].gpuLayers: unknown key 'gpuLayers'; known keys: engine, id, script",
    ],
    ['models: [{ engine: llama, id: a }]', '1: models[0].source: is missing'],
    ['models: [{ engine: llama, id: a, source: 5 }]', '1: models[0].source: must be one of: string, array, got 5'],
    ['models: [{ engine: llama, id: a, source: "ftp://x" }]', "1: models[0].source: 'ftp://x' is not a model source"],
    ['models: [{ engine: llama, id: a, source: [x.gguf, y] }]', "1: models[0].source[1]: 'y' is not a model source"],
    [
      'models: [{ engine: lama, id: a }]',
      '1: models[0].engine: must be one of: llama, llama-server, remote, fake, got "lama"; did you mean \'llama\'?',
    ],
    [
      'models: [{ engine: llama, id: a, source: x.gguf, draft: { source: y.gguf }, speculation: { type: ngram } }]',
      '1: models[0].draft: cannot be used together with `speculation`: remove one of them',
    ],
    ['server: 5', '1: server: must be an object, got 5'],
    ['log: { level: dbug }', 'got "dbug"; did you mean \'debug\'?'],
    ['server: { reasoningFields: reasning }', 'got "reasning"; did you mean \'reasoning\'?'],
    ['server: { apiKeys: [{ key: abcdefgh, name: anyone }] }', 'apiKeys[0].name: must be a name of letters, digits'],
    ['server: { apiKeys: [{ key: abcdefgh, name: key-d0d19f78 }] }', 'other than `anyone` and `key-` with 8 hexadecimal digits'],
    ['server: { apiKeys: [{ key: abcdefgh, scopes: [metric] }] }', "; did you mean 'metrics'?"],
    ['sampling: { preset: calmm, presets: { calm: {} } }', "must be one of the presets (calm); did you mean 'calm'?"],
    [`models: [${fake.replace('}', ', fallback: [oter] }')}, ${fake.replace('id: f', 'id: other')}]`, "did you mean 'other'?"],
    ['- 1', '1: must be an object'],
    ['server: { port: 70000 }', '1: server.port: must be at most 65535, got 70000'],
    ['server: { allowedOrigins: ["https://a.example/"] }', '1: server.allowedOrigins[0]: must be an origin as browsers send it'],
    ['server: { allowedOrigins: ["https://a.example:443"] }', '1: server.allowedOrigins[0]: must be an origin'],
    ['server: { allowedOrigins: ["a.example"] }', '1: server.allowedOrigins[0]: must be an origin'],
    ['server: { allowedOrigins: ["null"] }', '1: server.allowedOrigins[0]: must be an origin'],
    ['a: 1\na: 2', 'line 2: Map keys must be unique'],
    ['server: [', 'line 1: '],
    [`models:\n- ${fake}\n- ${fake}`, "3: models[1].id: two models have the id 'f'; rename one"],
    [`models:\n- ${fake.replace('}', ', aliases: [x, x] }')}`, "models[0].aliases[1]: 'x' is already a name of the model 'f'"],
  ])('the configuration %j is reported with its place', async (text, problem) => {
    expect(await problemsOf(text)).toContain(problem)
  })

  test('in a file are reported together, each with its line', async () => {
    const text = 'sever: 1\nserver:\n  port: x\nmodels:\n  - engine: fake\n    id: a b\n    script: from-request'
    expect((await problemsOf(text)).split('\n  ')).toEqual([
      'the configuration is invalid:',
      '3: server.port: must be a number, got "x"',
      '6: models[0].id: must be a name without spaces or *, got "a b"',
      "1: sever: unknown key 'sever'; did you mean 'server'?",
    ])
  })

  test('errors in a flag or a variable are reported with its name', async () => {
    const inputs = { env: { DRAGOMAN_PORT: 'abc' }, flags: { logLevel: 'loud', models: ['zz'] } }
    const problems = await problemsOf('server: { port: 1 }', inputs)
    expect(problems).toContain('DRAGOMAN_PORT: must be a number, got "abc"')
    expect(problems).toContain('--log-level: must be one of: trace, debug')
    expect(problems).toContain("'zz' is not a model source")
  })

  test('a source on the command line alone is not blamed on a configuration', async () => {
    await expect(loadConfig({ ...bare, cwd: folder, flags: { models: ['hf:toy'] } })).rejects.toThrow(
      /^'hf:toy' is not a model source: write hf:OWNER\/REPO\[\/FILE\.gguf\]\[@REVISION\]$/,
    )
  })

  test('a projector must be named, since the model is what is chosen from a repository', async () => {
    const model = '{ id: a, engine: llama-server, source: hf:o/r, mmproj: hf:o/r }'
    expect(await problemsOf(`models: [${model}]`)).toContain('mmproj: name the file of the repository too')
  })

  test('never quote an API key', async () => {
    expect(await problemsOf('server: { apiKeys: [12345] }')).not.toContain('12345')
  })

  test('aliases that expand without limit are refused', async () => {
    const text = [
      'a: &a [x, x, x, x, x, x, x, x]',
      ...'bcdefg'.split('').map((key, index) => {
        const before = 'abcdefg'[index]
        return `${key}: &${key} [*${before}, *${before}, *${before}, *${before}, *${before}, *${before}]`
      }),
    ].join('\n')
    expect(await problemsOf(text)).toContain('Excessive alias count')
  })

  test('a missing file is named', async () => {
    const inputs = { ...bare, flags: { config: 'missing.yaml' } }
    await expect(loadConfig(inputs)).rejects.toThrow('/work/missing.yaml')
  })
})

describe('sampling and templates', () => {
  test('presets keep falsy values, and the template folder is relative to the file', async () => {
    const text = `templates: templates
sampling: { preset: a, presets: { a: { top_k: { override: 0, force: true }, stop: { override: [x], additive: true } } } }`
    expect(await fromFile(text)).toMatchObject({
      templates: join(folder, 'templates'),
      sampling: {
        preset: 'a',
        presets: { a: { top_k: { override: 0, force: true }, stop: { override: ['x'], additive: true } } },
      },
    })
  })

  test.each([
    ['sampling: { preset: b, presets: { a: {} } }', 'sampling.preset: must be one of the presets (a)'],
    ['sampling: { preset: b }', 'sampling.preset: must be one of the presets (there are none)'],
    ['sampling: { presets: { "a b": {} } }', 'must be a name of letters'],
    ['sampling: { presets: { a: { top_k: 0 } } }', 'sampling.presets.a.top_k'],
    ['sampling: { presets: { a: { top_k: { override: 0, forced: true } } } }', "did you mean 'force'"],
  ])('%j is invalid', async (text, problem) => {
    expect(await problemsOf(text)).toContain(problem)
  })
})

test('a JSON file is accepted', async () => {
  await writeFile(join(folder, 'd.json'), '{\n\t"server": { "port": 1 }\n}')
  expect(await loadConfig({ ...bare, cwd: folder, flags: { config: 'd.json' } })).toMatchObject({ server: { port: 1 } })
})

test('the example is valid', async () => {
  const path = new URL('../../dragoman.example.yaml', import.meta.url)
  const { models } = await fromFile(await readFile(path, 'utf8'))
  expect(models.map(({ id }) => id)).toEqual(['smollm2-135m-instruct', 'scripted', 'dragoman-tiny'])
})

test('the example shows every key', async () => {
  const example = await readFile(new URL('../../dragoman.example.yaml', import.meta.url), 'utf8')
  const keys = new Set<string>()
  JSON.stringify(configJsonSchema(), (key, value) => {
    if (key === 'properties') for (const name of Object.keys(value)) keys.add(name)
    return value
  })
  expect(keys.size).toBeGreaterThan(20)
  expect([...keys].filter((key) => !new RegExp(`\\b${key}:`).test(example))).toEqual([])
})

test('every key of the schema is documented', () => {
  const undocumented: string[] = []
  const walk = (schema: unknown, path: string): void => {
    if (typeof schema !== 'object' || schema === null) return
    for (const [key, value] of Object.entries(schema)) {
      if (key === 'properties') {
        for (const [name, property] of Object.entries(value)) {
          const described = typeof property === 'object' && property !== null && 'description' in property
          if (!described) undocumented.push(`${path}.${name}`)
          walk(property, `${path}.${name}`)
        }
      } else walk(value, path)
    }
  }
  walk(configJsonSchema(), '')
  expect(undocumented).toEqual([])
})

test.each(readdirSync(before))('the settings of version %s are accepted', async (name) => {
  const inputs = { ...bare, flags: { config: join(before, name) } }
  expect((await loadConfig(inputs)).models.length).toBeGreaterThan(0)
})
