import { workspace } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

// activate starts the language server. The client library registers its commands, and shows the texts
// that the server opens.
export async function activate(): Promise<void> {
  const command = workspace.getConfiguration("tofu").get<string>("path", "tofu");
  client = new LanguageClient(
    "tofu",
    "tofu",
    { command, args: ["serve", "-lsp"] },
    {
      documentSelector: ["opentofu", "terraform", "terraform-vars"].map((language) => ({ scheme: "file", language })),
      synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.{tf,tofu,tfvars,hcl,json}") },
    },
  );
  await client.start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
