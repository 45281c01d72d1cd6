import { useState } from 'preact/hooks'
import { describe } from '../../../api/client.ts'
import { chatTexts } from '../../../texts/chat.ts'
import { frameTexts } from '../../../texts/frame.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { plainName } from '../../../ui/names.ts'
import { askServer, type OwnServer, saveServer } from './own-servers.ts'

const texts = chatTexts.serverTools.own

type ServerDialogProps = {
  /** The one to change. */
  readonly server?: OwnServer
  /** Where servers may be; empty: nowhere. */
  readonly hosts: readonly string[]
  /** Names of others. */
  readonly taken: readonly string[]
  readonly onSaved: (name: string) => void
  readonly onClose: () => void
}

/** Adds an MCP server by its address, once it has answered with its tools. */
export function ServerDialog({ server, hosts, taken, onSaved, onClose }: ServerDialogProps) {
  const [problem, setProblem] = useState<string>()
  const [isAsking, setAsking] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const given = new FormData(event.currentTarget as HTMLFormElement)
    const [name, url, token] = ['name', 'url', 'token'].map((field) => String(given.get(field) ?? '').trim()) as [
      string,
      string,
      string,
    ]
    if (taken.includes(name)) return setProblem(texts.isTaken(name))
    setAsking(true)
    setProblem(undefined)
    try {
      const { tools, absent } = await askServer({ name, url }, token)
      const [why] = absent
      if (tools.length === 0) return setProblem(plainName(why?.why ?? texts.noTools))
      saveServer({ name, url }, token)
      onSaved(name)
      onClose()
    } catch (error) {
      setProblem(describe(error))
    } finally {
      setAsking(false)
    }
  }
  if (hosts.length === 0) {
    return (
      <Dialog title={texts.add} onClose={onClose}>
        <p>{texts.notAllowed}</p>
        <p class="small muted">{texts.operatorSets}</p>
      </Dialog>
    )
  }
  return (
    <Dialog title={server === undefined ? texts.add : texts.changeOf(server.name)} onClose={onClose}>
      <form class="stack" onSubmit={(event) => void submit(event)}>
        <label class="labelled">
          <span>{texts.name}</span>
          <input
            class="field"
            name="name"
            required
            pattern="(?!.*__)[A-Za-z0-9_\-]{1,32}"
            title={texts.nameHint}
            autocomplete="off"
            autofocus
            readOnly={server !== undefined}
            defaultValue={server?.name}
          />
        </label>
        <label class="labelled">
          <span>{texts.url}</span>
          <input
            class="field mono"
            name="url"
            type="url"
            required
            autocomplete="off"
            placeholder="https://mcp.example.com/mcp"
            aria-describedby="own-server-hosts"
            defaultValue={server?.url}
          />
        </label>
        <p id="own-server-hosts" class="small muted">
          {texts.allowed(hosts)}
        </p>
        <label class="labelled">
          <span>{texts.token}</span>
          <input class="field" name="token" type="password" autocomplete="off" aria-describedby="own-server-token" />
        </label>
        <p id="own-server-token" class="small muted">
          {texts.tokenHint}
        </p>
        <div role="status">{problem !== undefined && <p class="bad small">{problem}</p>}</div>
        <div class="dialog-end">
          <Button onClick={onClose}>{frameTexts.cancel}</Button>
          <Button kind="primary" disabled={isAsking}>
            {isAsking ? texts.asking : texts.connect}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
