import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { call } from '../../../api/client.ts'
import { returns } from '../../../api/connection.ts'
import { chatTexts } from '../../../texts/chat.ts'
import { Button } from '../../../ui/button.tsx'
import { plainName } from '../../../ui/names.ts'
import { plural } from '../../../ui/numbers.ts'
import { Failure, Waiting } from '../../../ui/states.tsx'
import type { Settings } from '../conversation.ts'
import { askServers, type OwnServer, ownServers, removeServer } from './own-servers.ts'
import { ServerDialog } from './server-dialog.tsx'
import { type Choice, choicesOf, type ListedTool, partOf, type ToolList, withChoice, withTool } from './tool-choice.ts'

const texts = chatTexts.serverTools

type ServerToolsProps = {
  readonly settings: Settings
  readonly onChange: (serverTools: NonNullable<Settings['serverTools']>) => void
}

/** The tools that the server runs, and MCP servers with theirs, each with its switch for the conversation. */
export function ServerTools({ settings, onChange }: ServerToolsProps) {
  const [listed, setListed] = useState<ToolList>()
  const [problem, setProblem] = useState<unknown>()
  const [asked, setAsked] = useState(0)
  const [dialog, setDialog] = useState<{ readonly server?: OwnServer }>()
  const { names, asks = false } = settings.serverTools ?? { names: [] }
  // Asked again after each click, and when the server is back.
  useEffect(() => {
    setProblem(undefined)
    setListed(undefined)
    const leaving = new AbortController()
    const { signal } = leaving
    Promise.all([call<ToolList>('api/tools', { signal }), askServers(signal)]).then(
      ([{ own_server_hosts, ...all }, own]) => {
        if (signal.aborted) return
        const every = [all, ...own]
        setListed({
          tools: every.flatMap(({ tools }) => tools),
          absent: every.flatMap(({ absent }) => absent),
          own_server_hosts,
        })
      },
      (error) => {
        if (!signal.aborted) setProblem(error)
      },
    )
    return () => leaving.abort()
  }, [asked, returns.value, ownServers.value])
  const set = (next: readonly string[]) => onChange({ names: next, asks })
  const again = () => setAsked(asked + 1)
  const choices = listed === undefined ? [] : choicesOf(listed, names)
  return (
    <>
      <h3>{texts.title}</h3>
      {problem !== undefined && <Failure error={problem} onRetry={again} />}
      {problem === undefined && listed === undefined && <Waiting what={texts.asking} />}
      {listed !== undefined && choices.length === 0 && <p class="small muted">{texts.none}</p>}
      {names.length > 0 && settings.tools !== '' && <p class="small muted">{texts.replaceOwn}</p>}
      {choices.map((choice) => (
        <ChoiceFields key={choice.name} choice={choice} names={names} onNames={set}>
          <OwnServerActs
            server={ownServers.value.find(({ name }) => name === choice.name)}
            onChange={setDialog}
            onRemoved={() => set(withChoice(names, choice, false))}
          />
        </ChoiceFields>
      ))}
      {listed !== undefined && <Button onClick={() => setDialog({})}>{texts.own.add}</Button>}
      {listed !== undefined && dialog !== undefined && (
        <ServerDialog
          {...dialog}
          hosts={listed.own_server_hosts}
          taken={choices.flatMap(({ name }) => (name === dialog.server?.name ? [] : [name]))}
          onSaved={(name) => set([...names.filter((each) => each !== name && !each.startsWith(`${name}__`)), name])}
          onClose={() => setDialog(undefined)}
        />
      )}
      {listed !== undefined && listed.absent.length > 0 && <Button onClick={again}>{texts.askAgain}</Button>}
      {choices.length > 0 && (
        <label class="check">
          <input type="checkbox" checked={asks} onChange={(event) => onChange({ names, asks: event.currentTarget.checked })} />
          {texts.asks}
        </label>
      )}
    </>
  )
}

type OwnServerActsProps = {
  readonly server: OwnServer | undefined
  readonly onChange: (dialog: { readonly server: OwnServer }) => void
  readonly onRemoved: () => void
}

function OwnServerActs({ server, onChange, onRemoved }: OwnServerActsProps) {
  if (server === undefined) return null
  const { name } = server
  const remove = () => {
    removeServer(name)
    onRemoved()
  }
  return (
    <div class="row tool-acts">
      <Button of={name} onClick={() => onChange({ server })}>
        {texts.own.change}
      </Button>
      <Button of={name} onClick={remove}>
        {texts.own.remove}
      </Button>
    </div>
  )
}

type ChoiceProps = {
  readonly choice: Choice
  readonly names: readonly string[]
  readonly onNames: (names: readonly string[]) => void
  readonly children: ComponentChildren
}

function ChoiceFields({ choice, names, onNames, children }: ChoiceProps) {
  const { name, tool, tools, problems } = choice
  const part = partOf(choice, names)
  const isThere = tool !== undefined || tools.length > 0
  return (
    <div class="tool-choice">
      <label class="check">
        <input
          type="checkbox"
          checked={part === 'all'}
          ref={(input) => {
            if (input !== null) input.indeterminate = part === 'some'
          }}
          disabled={!isThere && part === 'none'}
          onChange={(event) => onNames(withChoice(names, choice, event.currentTarget.checked))}
        />
        <span>
          {texts.names[name] ?? plainName(name)}
          {tool?.needs_approval === true && <span class="small muted"> {texts.alwaysAsks}</span>}
        </span>
      </label>
      {!isThere && problems.length === 0 && <p class="small bad">{texts.gone}</p>}
      {problems.map((why) => (
        <p key={why} class="small bad">
          {plainName(why)}
        </p>
      ))}
      {tools.length > 0 && (
        <details class="fold">
          <summary>{texts.toolsOf(plural(tools.length, 'tool'), name)}</summary>
          {tools.map((each) => (
            <ToolField
              key={each.name}
              tool={each}
              isOn={part === 'all' || names.includes(each.name)}
              onToggle={(isOn) => onNames(withTool(names, choice, each, isOn))}
            />
          ))}
        </details>
      )}
      {children}
    </div>
  )
}

type ToolFieldProps = { readonly tool: ListedTool; readonly isOn: boolean; readonly onToggle: (isOn: boolean) => void }

function ToolField({ tool, isOn, onToggle }: ToolFieldProps) {
  const { name, server_tool: own = name, description, needs_approval: asks } = tool
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onToggle(event.currentTarget.checked)} />
      <span class="tool-about">
        {plainName(own)}
        <span class="small muted tool-description" title={description}>
          {[asks ? texts.alwaysAsks : '', plainName(description)].filter((each) => each !== '').join(' ')}
        </span>
      </span>
    </label>
  )
}
