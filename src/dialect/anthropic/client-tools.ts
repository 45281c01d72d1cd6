import type { FunctionTool, JsonObject } from '../../contract/request.ts'

/**
 * Tools that the client runs and Anthropic's API declares only by a dated type, such as `bash_20250124`. Models without training on them
 * need a description and a schema; the arguments are those of Anthropic's documentation.
 */
const clientTools: readonly { readonly prefix: string; readonly name: string; readonly tool: Omit<FunctionTool, 'name'> }[] = [
  {
    prefix: 'bash_',
    name: 'bash',
    tool: {
      description: 'Runs a command in a shell that keeps its state between calls.',
      parameters: object({
        command: { type: 'string', description: 'The command to run.' },
        restart: { type: 'boolean', description: 'True: restart the shell instead.' },
      }),
    },
  },
  {
    prefix: 'text_editor_',
    name: 'str_replace_based_edit_tool',
    tool: {
      description: 'Views and edits files: view, create, str_replace, insert.',
      parameters: object(
        {
          command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'undo_edit'] },
          path: { type: 'string', description: 'The file or folder.' },
          file_text: { type: 'string', description: 'create: the content.' },
          old_str: { type: 'string', description: 'str_replace: the text to replace, which occurs once.' },
          new_str: { type: 'string', description: 'str_replace, insert: the new text.' },
          insert_line: { type: 'integer', description: 'insert: the line after which the text goes; 0 is the beginning.' },
          view_range: { type: 'array', items: { type: 'integer' }, description: 'view: the first and the last line.' },
        },
        ['command', 'path'],
      ),
    },
  },
  {
    prefix: 'memory_',
    name: 'memory',
    tool: {
      description: 'Reads and writes notes in files below /memories, which are kept between conversations.',
      parameters: object(
        {
          command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
          path: { type: 'string', description: 'The file or folder.' },
          view_range: { type: 'array', items: { type: 'integer' }, description: 'view: the first and the last line.' },
          file_text: { type: 'string', description: 'create: the content.' },
          old_str: { type: 'string', description: 'str_replace: the text to replace.' },
          new_str: { type: 'string', description: 'str_replace: the new text.' },
          insert_line: { type: 'integer', description: 'insert: the line after which the text goes.' },
          insert_text: { type: 'string', description: 'insert: the text.' },
          old_path: { type: 'string', description: 'rename: the file.' },
          new_path: { type: 'string', description: 'rename: its new name.' },
        },
        ['command'],
      ),
    },
  },
  {
    prefix: 'computer_',
    name: 'computer',
    tool: {
      description: 'Uses the mouse and the keyboard of a screen, and takes screenshots.',
      parameters: object(
        {
          action: { type: 'string', description: 'Such as screenshot, left_click, mouse_move, type, key, scroll, wait, zoom.' },
          coordinate: { type: 'array', items: { type: 'integer' }, description: 'x and y, in pixels.' },
          start_coordinate: { type: 'array', items: { type: 'integer' }, description: 'left_click_drag: where it begins.' },
          text: { type: 'string', description: 'type: the text; key: the keys.' },
          scroll_direction: { type: 'string', enum: ['up', 'down', 'left', 'right'] },
          scroll_amount: { type: 'integer' },
          duration: { type: 'number', description: 'wait, hold_key: seconds.' },
          region: { type: 'array', items: { type: 'integer' }, description: 'zoom: two corners.' },
        },
        ['action'],
      ),
    },
  },
]

/** The tool that a dated type declares; undefined for tools that Anthropic's servers run, such as `web_search_20250305`. */
export function clientTool(type: string, name: string | undefined): FunctionTool | undefined {
  const known = clientTools.find(({ prefix }) => type.startsWith(prefix) && /^\d+$/.test(type.slice(prefix.length)))
  return known === undefined ? undefined : { name: name ?? known.name, ...known.tool }
}

function object(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, required }
}
