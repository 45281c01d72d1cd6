import { describe, expect, test } from 'vitest'
import { findTool } from './find-tool.ts'

function found(written: string, ...names: readonly string[]) {
  return findTool(
    names.map((name) => ({ name })),
    written,
  )?.name
}

describe('a written name means', () => {
  test.each([
    ['Read', 'Read', ['Read', 'read', 'functions.Read']],
    ['read', 'Read', ['Read', 'Write']],
    ['READ_FILE', 'read_file', ['read_file']],
    ['functions.Read', 'Read', ['Read', 'Write']],
    ['functions.read', 'Read', ['Read']],
    ['function.read_file', 'read_file', ['read_file']],
    ['functions.read_file:0', 'read_file', ['read_file', 'exec']],
    ['read_file:12', 'read_file', ['read_file']],
    ['functions_read_file_3', 'read_file', ['read_file', 'exec']],
    ['functions_read_file_3', 'read_file_3', ['read_file', 'read_file_3']],
    ['functions.read_file.0', 'read_file', ['read_file', 'exec']],
    ['functions.read_file0', 'read_file', ['read_file', 'exec']],
    ['functions-read-file-0', 'read_file', ['read_file']],
    ['functions.search:0', 'mcp__github__search', ['mcp__github__search']],
    ['google:mcp:docs:create-pdf', 'create-pdf', ['create-pdf']],
    ['google:mcp:docs:create_pdf', 'create-pdf', ['create-pdf']],
    ['mcp__github__search', 'search', ['search']],
    ['search', 'mcp__github__search', ['mcp__github__search', 'mcp__slack__post']],
    ['github.search', 'search', ['mcp__x__y', 'search']],
    ['mcp__docs__create', 'docs__create', ['create', 'docs__create']],
    ['get_weather<|channel|>commentary', 'get_weather', ['get_weather']],
    ['functions.get_weather <|constrain|>json', 'get_weather', ['get_weather']],
    ['get-weather', 'get_weather', ['get_weather']],
    ['get weather', 'get_weather', ['get_weather']],
    ['getWeather', 'get_weather', ['get_weather']],
    ['get.weather', 'get_weather', ['get_weather', 'weather']],
    ['now()', 'now', ['now']],
    ['"now"', 'now', ['now']],
    [' `now`\n', 'now', ['now']],
    ['brave_search.call', 'brave_search', ['brave_search', 'call']],
    ['x.call', 'x.call', ['x', 'x.call']],
  ])('of %j: %s', (written, wanted, names) => {
    expect(found(written, ...names)).toBe(wanted)
  })

  test.each([
    ['read', 'Read', 'READ'],
    ['get weather', 'get_weather', 'get-weather'],
    ['search', 'mcp__github__search', 'mcp__slack__search'],
    ['mcp__slack__search', 'mcp__github__search'],
    ['reader', 'read'],
    ['unknown', 'read'],
    ['search_2', 'search'],
    ['', 'read'],
    ['', ''],
    ['<|channel|>', 'read'],
    ['_', 'read'],
  ])('nothing, where %j fits none or several', (written, ...names) => {
    expect(found(written, ...names)).toBeUndefined()
  })
})
